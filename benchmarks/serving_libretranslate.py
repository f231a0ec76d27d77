"""LibreTranslate on the weights of a bundle, for serving.py. Its own models need the network.

    PYTHON benchmarks/serving_libretranslate.py CTRANSLATE2_MODEL BUNDLE WORKERS SOURCE TARGET PORT

PYTHON has libretranslate 1.9.6, with `tokenizers` or `sentencepiece` for the bundle. WORKERS is the number of gunicorn's
processes; 0 is waitress. The vocabulary is the bundle's, and texts are not split into sentences, which favours LibreTranslate:
all texts of the benchmark are single sentences.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NAMES = {"en": "English", "de": "German", "es": "Spanish", "zh": "Chinese"}


def make_packages(folder: Path, model: Path, source: str, target: str) -> None:
    """Two packages of Argos: with fewer, LibreTranslate asks the network for more."""
    for one, other in ((source, target), (target, source)):
        place = folder / f"translate-{one}_{other}"
        place.mkdir()
        (place / "model").symlink_to(model.resolve())
        (place / "sentencepiece.model").write_bytes(b"")
        metadata = {"package_version": "1.9", "argos_version": "1.9", "from_code": one, "to_code": other,
                    "from_name": NAMES.get(one, one), "to_name": NAMES.get(other, other), "type": "translate"}  # fmt: skip
        (place / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")


def replace_tokenizer(bundle: Path) -> None:
    from argostranslate import sbd, tokenizer
    from end_to_end_peer import open_tokenizer

    ours = open_tokenizer(bundle)
    tokenizer.SentencePieceTokenizer.encode = lambda self, sentence: ours.encode([sentence])[0]
    tokenizer.SentencePieceTokenizer.decode = lambda self, tokens: ours.decode([tokens])[0]
    for name in ("MiniSBDSentencizer", "StanzaSentencizer", "SpacySentencizerSmall"):
        found = getattr(sbd, name, None)
        if found is not None:
            found.__init__ = lambda self, *_, **__: None
            found.split_sentences = lambda self, text: [text]


def application(source: str, target: str) -> Any:
    from libretranslate.app import create_app
    from libretranslate.main import get_args

    sys.argv = [
        "libretranslate",
        "--load-only",
        f"{source},{target}",
        "--disable-web-ui",
        "--batch-limit",
        "-1",
    ]
    return create_app(get_args())


def main() -> None:
    model, bundle, workers, source, target, port = sys.argv[1:]
    folder = Path(tempfile.mkdtemp())
    (folder / "packages").mkdir()
    make_packages(folder / "packages", Path(model), source, target)
    os.environ.update(
        {"ARGOS_PACKAGES_DIR": str(folder / "packages"), "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    )
    os.chdir(folder)
    logging.disable(logging.INFO)  # it logs every step of every text
    replace_tokenizer(Path(bundle))
    if workers == "0":
        from waitress import serve

        serve(application(source, target), host="127.0.0.1", port=int(port), threads=8)
        return
    from gunicorn.app.base import BaseApplication

    class Gunicorn(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            self.cfg.set("bind", f"127.0.0.1:{port}")
            self.cfg.set("workers", int(workers))
            self.cfg.set("timeout", 300)

        def load(self) -> Any:
            return application(source, target)

    Gunicorn().run()


if __name__ == "__main__":
    main()
