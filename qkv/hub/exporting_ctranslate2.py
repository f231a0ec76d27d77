"""Export models to CTranslate2: write, open, compare, and only then move into place."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import TOKENIZER_FILE
from qkv.checkpoint.files import write_file
from qkv.checkpoint.outputs import check_new_folder
from qkv.errors import DataError, ModelError
from qkv.families import bundle_kinds
from qkv.families.family import resolve
from qkv.families.loading import kind_of, load
from qkv.hub.ctranslate2 import Exporter, Numbers
from qkv.hub.importing import all_or_nothing
from qkv.hub.proof import Proof


@dataclass(frozen=True, kw_only=True)
class ExportedToCTranslate2:
    opened_as: str
    proof: Proof
    allowed: float
    """The largest difference at which outputs count as equal."""
    same: int
    """Greedy outputs that are the same, of `total`."""
    total: int
    translations: tuple[list[str], list[str]] | None
    """Greedy translations of the given lines, by us and by CTranslate2. Beam search would score differently."""

    @property
    def is_the_same(self) -> bool:
        return self.proof.difference <= self.allowed and self.same == self.total


def export_to_ctranslate2(
    model: Path, out: Path, numbers: Numbers = "float32", lines: Sequence[str] = ()
) -> ExportedToCTranslate2:
    check_new_folder("output", out)
    exporter = exporter_of(model)
    if lines and exporter.translate is None:
        raise DataError("test sources and targets are for translators only.")
    product = load(model)
    with all_or_nothing(out) as temporary:
        exporter.save(product, temporary, numbers)
        write_file(temporary / TOKENIZER_FILE, (model / TOKENIZER_FILE).read_bytes())
        exported = compare(exporter, product, temporary, numbers, lines)
        if numbers == "float32" and not exported.is_the_same:
            raise DataError(
                f"{out}: the output of CTranslate2 differs ({exported.proof.sentence()}; {exported.same} of "
                f"{exported.total} greedy outputs are the same). Nothing was written."
            )
        return exported


def exporter_of(model: Path) -> Exporter:
    kind = kind_of(model)
    if kind.ctranslate2 is None:
        able = ", ".join(each.name for each in bundle_kinds().values() if each.ctranslate2 is not None)
        raise ModelError(
            f"{model} holds a model of kind '{kind.name}', which CTranslate2 cannot run. It runs {able}."
        )
    exporter: Exporter = resolve(kind.ctranslate2)
    return exporter


@torch.inference_mode()
def compare(
    exporter: Exporter, product: Any, folder: Path, numbers: Numbers, lines: Sequence[str]
) -> ExportedToCTranslate2:
    import ctranslate2

    opened: Any = getattr(ctranslate2, exporter.opened_as)
    engine = opened(str(folder), compute_type=numbers, intra_threads=torch.get_num_threads())
    found = exporter.compare(product, engine)
    translate = exporter.translate
    return ExportedToCTranslate2(
        opened_as=exporter.opened_as,
        proof=Proof(
            difference=found.difference, against=f"CTranslate2 {ctranslate2.__version__} in {numbers}"
        ),
        allowed=found.allowed,
        same=found.same,
        total=found.total,
        translations=translate(product, engine, lines) if lines and translate is not None else None,
    )
