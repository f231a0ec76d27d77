"""Import models of Marian: read, compare with Marian, and write a bundle, or nothing."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from qkv.checkpoint.bundle import save_report
from qkv.checkpoint.outputs import check_new_folder
from qkv.errors import DataError
from qkv.families import marian_reader
from qkv.families.family import resolve
from qkv.families.loading import as_model_errors
from qkv.hub.importing import Imported, all_or_nothing, card_of, report_of
from qkv.hub.importing_ctranslate2 import sentence_of
from qkv.hub.marian_file import ROUNDED, SETTINGS, MarianWeights
from qkv.hub.marian_folder import MarianFolder, read_marian
from qkv.hub.proof import Proof

PATIENCE = 600  # seconds
LENGTH_FACTOR = 3  # the longest translation, times the length of the source
# Marian ends its process after an error, so it runs in one of its own.
PROGRAM = """
import json, sys
import _pymarian as marian
given = json.load(sys.stdin)
print("\\x1e" + marian.Translator(given["options"]).translate("\\n".join(given["lines"])))
"""


@dataclass(frozen=True, kw_only=True)
class MarianImporter:
    """How models of Marian are read and compared with ours."""

    read: Callable[[MarianFolder, str | None], Any]
    """The product; the second argument is the default target language, if there are several."""
    lines: Callable[[Any, MarianFolder], list[tuple[str, str]]]
    """Texts to translate with both, and the same as Marian reads them; none if Marian decodes otherwise than it trains."""
    translate: Callable[[Any, MarianFolder, Sequence[str], int], list[str]]
    """Our greedy translations as Marian writes them, at most this many times as long as the source."""


def import_from_marian(path: Path, out: Path, *, origin: str, language: str | None = None) -> Imported:
    """From a folder of Marian to a bundle; `origin` is the name that the user gave."""
    check_new_folder("output", out)
    importer: MarianImporter = resolve(marian_reader())
    with as_model_errors():
        folder = read_marian(path)
        product = importer.read(folder, language)
    proof = prove(importer, product, folder)
    missing = (
        "Marian decodes it otherwise than it trains it" if has_marian() else "pymarian was not available"
    )
    weights = sentence_of(folder.weights.number_formats())
    report = report_of("Marian", product, origin, proof, missing, weights)
    with all_or_nothing(out) as temporary:
        product.to_bundle(temporary)
        save_report(temporary, report, card_of(report))
    return Imported(product=product, model_type="Marian", proof=proof, library="pymarian", weights=weights)


def has_marian() -> bool:
    return importlib.util.find_spec("_pymarian") is not None


def prove(importer: MarianImporter, product: Any, folder: MarianFolder) -> Proof | None:
    """Compare greedy translations with Marian in float32 if it is installed."""
    if not has_marian():
        return None
    lines = importer.lines(product, folder)
    if not lines:
        return None
    ours = importer.translate(product, folder, [line for line, _ in lines], LENGTH_FACTOR)
    theirs = translate_with_marian(folder, [line for _, line in lines])
    same = sum(own == other for own, other in zip(ours, theirs, strict=False))
    if same < len(lines):
        raise DataError(
            f"{folder.where}: only {same} of {len(lines)} greedy translations are those of Marian. Nothing was written."
        )
    return Proof(difference=0.0, against=f"Marian {version('pymarian')}", translations=len(lines))


def translate_with_marian(folder: MarianFolder, lines: Sequence[str]) -> list[str]:
    """Greedy translations in float32, without a shortlist."""
    with tempfile.TemporaryDirectory(prefix="qkv-") as temporary:
        write_float32(folder.weights, Path(temporary) / "model.npz")
        names = []
        for side, each in zip(("source", "target"), folder.vocabularies, strict=True):
            names.append(f"{temporary}/{side}{each.path.suffix}")
            shutil.copyfile(each.path, names[-1])
        options = {
            "models": f"{temporary}/model.npz", "vocabs": " ".join(names), "beam-size": 1, "mini-batch": 1, "cpu-threads": 1,
            "max-length-factor": LENGTH_FACTOR, "max-length": 1000, "quiet": "true",
        }  # fmt: skip
        line = " ".join(f"--{name} {value}" for name, value in options.items())
        try:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                input=json.dumps({"options": line, "lines": list(lines)}),
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{folder.where}: Marian took more than {PATIENCE} seconds.") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(f"{folder.where}: Marian cannot run it ({reason}).")
    output = done.stdout.rpartition("\x1e")[2].split("\n")
    return output[: len(lines)]


def write_float32(weights: MarianWeights, path: Path) -> None:
    """The same model as an .npz of Marian, with rounded matrices multiplied out."""
    arrays: dict[str, Any] = {}
    for name, item in weights.items.items():
        if name == SETTINGS:
            text = np.frombuffer(weights.data, "i1", item.size, item.begin)
            arrays[name] = text
        elif not name.endswith("_QuantMultA"):
            rounded = item.type in ROUNDED and not name.endswith("Wemb")
            values = weights.linear(name).T if rounded else weights.matrix(name, item.shape)
            arrays[name] = np.ascontiguousarray(values.numpy())
    np.savez(path, **arrays)
