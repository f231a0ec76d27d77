"""Import published models: read, compare with the original, and write a bundle, or nothing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import save_report
from qkv.checkpoint.files import make_folders, sync_folder
from qkv.checkpoint.outputs import check_new_folder
from qkv.errors import DataError
from qkv.families.loading import as_model_errors
from qkv.hub.folder import read_folder
from qkv.hub.formats import format_of, mapping_at, reader_of
from qkv.hub.proof import Proof, prove


@dataclass(frozen=True, kw_only=True)
class Imported:
    product: Any
    model_type: str
    proof: Proof | None
    library: str = "transformers"
    """The library to compare it with."""
    weights: str | None = None
    """How the weights were stored and are stored now, if that differs."""


def import_model(
    folder: Path,
    out: Path,
    *,
    origin: str,
    language: str | None = None,
    pairs: bool = False,
    allow_pickle: bool = False,
) -> Imported:
    """From a folder in Hugging Face's layout to a bundle; `origin` is the name that the user gave.

    `pairs` says whether a text classifier reads pairs.
    """
    check_new_folder("output", out)
    published = read_folder(folder, allow_pickle=allow_pickle)
    format = format_of(published.config, published.where)
    if language is not None and not format.translates:
        raise DataError(f"{published.where} is not a translator: it has no target language.")
    mapping = mapping_at(format.mapping)
    with as_model_errors():
        product = mapping.read(published, language)
    if pairs:
        if not hasattr(product, "_reading_pairs"):
            raise DataError(f"{published.where} is not a text classifier: it does not compare pairs.")
        product = product._reading_pairs(True)
    proof = prove(mapping, product, published)
    model_type = published.config["model_type"]
    report = report_of(
        model_type, product, origin, proof, "neither transformers nor a fingerprint was available"
    )
    with all_or_nothing(out) as temporary:
        product.to_bundle(temporary)
        save_report(temporary, report, card_of(report))
    return Imported(product=product, model_type=model_type, proof=proof)


def open_published(folder: Path) -> Any:
    """The model in a folder of Hugging Face's layout, without writing a bundle."""
    published = read_folder(folder, allow_pickle=False)
    with as_model_errors():
        return reader_of(published.config, published.where).read(published, None)


@contextmanager
def all_or_nothing(out: Path) -> Iterator[Path]:
    """A temporary folder next to `out`, which replaces it on success and is removed on failure."""
    out = out.resolve()  # "." has no name
    make_folders(out.parent)
    temporary = out.with_name(f".tmp-{out.name}-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        yield temporary
        sync_folder(temporary)
        os.replace(temporary, out)
        sync_folder(out.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def report_of(
    model_type: str, product: Any, origin: str, proof: Proof | None, missing: str, weights: str | None = None
) -> dict[str, Any]:
    """`missing` says why nothing was compared, if there is no proof."""
    return {
        "imported": {
            "from": origin,
            "model_type": model_type,
            "difference": None if proof is None else proof.difference,
            "against": None if proof is None else proof.against,
        },
        "parameters": sum(weight.numel() for weight in product.model.parameters()),
        "data": {"origin": origin},
        "results": {
            "imported from": f"{origin} ({model_type})",
            "compared": f"not compared: {missing}" if proof is None else proof.sentence(),
            **({} if weights is None else {"weights": weights}),
        },
    }


def card_of(report: dict[str, Any]) -> str:
    rows = "\n".join(f"- {name}: {value}" for name, value in report["results"].items())
    return (
        f"# A published model\n\nWritten by `qkv import`.\n\n{rows}\n"
        f"- parameters: {report['parameters']:,}\n\nIts license, data and limits are those of the original.\n"
    )
