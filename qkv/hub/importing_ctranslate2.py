"""Import models of CTranslate2: read, compare with the original, and write a bundle, or nothing."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import save_report
from qkv.checkpoint.outputs import check_new_folder
from qkv.errors import DataError
from qkv.families import ctranslate2_readers
from qkv.families.family import resolve
from qkv.families.loading import as_model_errors
from qkv.hub.ctranslate2 import Comparison
from qkv.hub.ctranslate2_file import ROUNDED
from qkv.hub.ctranslate2_folder import Original, opened
from qkv.hub.importing import Imported, all_or_nothing, card_of, report_of
from qkv.hub.proof import Proof


@dataclass(frozen=True, kw_only=True)
class Importer:
    """How one kind of model of CTranslate2 is read and compared with ours."""

    opened_as: str
    """The class of ctranslate2 that opens the folder."""
    newest: int
    """The newest revision of the model that is read."""
    read: Callable[[Original, str | None], Any]
    """The product; the second argument is the default target language, if there are several."""
    compare: Callable[[Any, Any, Original], Comparison]
    """Outputs of a product and of the opened class, for the same inputs."""


def import_from_ctranslate2(path: Path, out: Path, *, origin: str, language: str | None = None) -> Imported:
    """From a folder of CTranslate2, or a package with one, to a bundle; `origin` is the name that the user gave."""
    check_new_folder("output", out)
    with opened(path) as original:
        importer = importer_of(original)
        with as_model_errors():
            product = importer.read(original, language)
        proof = prove(importer, product, original)
        model_type = f"CTranslate2 {original.stored.spec}"
        weights = sentence_of(original.stored.number_formats())
        report = report_of(model_type, product, origin, proof, "ctranslate2 was not available", weights)
        with all_or_nothing(out) as temporary:
            product.to_bundle(temporary)
            save_report(temporary, report, card_of(report))
    return Imported(
        product=product, model_type=model_type, proof=proof, library="ctranslate2", weights=weights
    )


def importer_of(original: Original) -> Importer:
    readers, stored = ctranslate2_readers(), original.stored
    if stored.spec not in readers:
        raise DataError(
            f"{original.where} is a {stored.spec or 'model without a name'} of CTranslate2, which qkv cannot read. It reads "
            f"{', '.join(readers)}."
        )
    importer: Importer = resolve(readers[stored.spec])
    if stored.revision > importer.newest:
        raise DataError(
            f"{original.where} has revision {stored.revision} of CTranslate2's {stored.spec}, but this version of qkv reads up to "
            f"{importer.newest}. Update qkv, or convert the model with an older CTranslate2."
        )
    return importer


def sentence_of(formats: list[str]) -> str:
    """What became of the weights. A rounded weight and its scale give one float32, so nothing is rounded again."""
    kinds = " and ".join(formats)
    if not set(formats) & set(ROUNDED):
        return f"stored in {kinds}, kept in float32"
    return f"stored in {kinds}, dequantized to float32"


@torch.inference_mode()
def prove(importer: Importer, product: Any, original: Original) -> Proof | None:
    """Compare with CTranslate2 in float32 if it is installed."""
    if importlib.util.find_spec("ctranslate2") is None:
        return None
    import ctranslate2

    library: Any = ctranslate2
    try:
        engine = getattr(library, importer.opened_as)(
            str(original.folder), device="cpu", compute_type="float32", intra_threads=1
        )
    except (RuntimeError, ValueError) as error:
        raise DataError(f"{original.where}: CTranslate2 cannot open it ({error}).") from None
    found = importer.compare(product, engine, original)
    if not (found.difference <= found.allowed and found.same == found.total):
        raise DataError(
            f"{original.where}: the outputs differ by up to {found.difference:.1e} from those of CTranslate2 "
            f"({found.allowed:.1e} is allowed), and {found.same} of {found.total} greedy outputs are the same. Nothing was "
            "written."
        )
    return Proof(difference=found.difference, against=f"CTranslate2 {library.__version__}")
