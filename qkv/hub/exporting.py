"""Export models: write another library's format, open it with that library, compare, and only then move it into place."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import read_config
from qkv.checkpoint.files import json_bytes, write_file
from qkv.checkpoint.outputs import check_new_folder
from qkv.checkpoint.tensors import tensor_bytes
from qkv.errors import DataError
from qkv.families.loading import load
from qkv.hub.folder import read_folder
from qkv.hub.formats import writer_of
from qkv.hub.importing import all_or_nothing
from qkv.hub.mapping import NOTES, HubMapping, Written
from qkv.hub.proof import (
    Proof,
    compare,
    compute_with_transformers,
    fingerprint,
    has_transformers,
    open_with_transformers,
    quiet,
)

TokenIds = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Exported:
    class_name: str
    proof: Proof
    checked: bool
    """Whether transformers, which may not be installed, opened it."""
    greedy: int | None
    """Greedy outputs compared and found equal; None for models without text output."""


def export_to_transformers(model: Path, out: Path) -> Exported:
    """Write a folder that transformers opens without our code."""
    check_new_folder("output", out)
    kind = read_config(model)["kind"]
    mapping = writer_of(kind, str(model))
    product = load(model)
    written = mapping.write(product)
    with all_or_nothing(out) as temporary:
        write_folder(temporary, written, notes(mapping, product))
        return verify(mapping, product, written, temporary)


def notes(mapping: HubMapping, product: Any) -> dict[str, Any]:
    """What the format cannot store, so that importing it gives the same model back."""
    own_notes = getattr(mapping, "notes", None)
    return {
        **({} if own_notes is None else own_notes(product)),
        "fingerprint": fingerprint(mapping, product),
    }


def write_folder(folder: Path, written: Written, own_notes: dict[str, Any]) -> None:
    for name, content in written.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_file(folder / name, content)
    whole = {name: tensor.detach().contiguous() for name, tensor in written.weights.items()}
    write_file(folder / "model.safetensors", tensor_bytes(whole, format="pt"))
    if written.generation is not None:
        write_file(folder / "generation_config.json", json_bytes(written.generation))
    write_file(folder / NOTES, json_bytes(own_notes))
    write_file(folder / "config.json", json_bytes(written.config))


@torch.inference_mode()
def verify(mapping: HubMapping, product: Any, written: Written, folder: Path) -> Exported:
    """Compare with transformers if it is installed, else by importing the folder again."""
    name, inputs = written.config["architectures"][0], mapping.probe(product)
    ours = mapping.compute(product, inputs)
    if not has_transformers():
        again = mapping.read(read_folder(folder), None)
        proof = compare(ours, mapping.compute(again, inputs), "the reloaded model", str(folder))
        return Exported(class_name=name, proof=proof, checked=False, greedy=None)
    theirs, against = compute_with_transformers(mapping, product, folder, inputs)
    proof = compare(ours, theirs, against, str(folder))
    greedy = getattr(mapping, "greedy", None)
    if greedy is None:
        return Exported(class_name=name, proof=proof, checked=True, greedy=None)
    theirs_ids, own_ids = generate_with_transformers(folder, name, *greedy(product, inputs))
    if theirs_ids != own_ids:
        raise DataError(
            f"{folder}: transformers' greedy output differs from ours, although the logits agree. Nothing was written."
        )
    return Exported(class_name=name, proof=proof, checked=True, greedy=len(theirs_ids))


def generate_with_transformers(
    folder: Path, name: str, wanted: TokenIds, settings: dict[str, Any]
) -> tuple[TokenIds, TokenIds]:
    """The output of transformers' `generate`, cut after the end token, and ours."""
    import transformers

    begun, end = settings.pop("begun"), settings.pop("end")
    with quiet():
        model = open_with_transformers(folder, name)
        theirs: Any = transformers
        generation = theirs.GenerationConfig(
            do_sample=False, num_beams=1, eos_token_id=end, **settings.pop("generation")
        )
        rows: Sequence[Sequence[int]] = model.generate(**settings, generation_config=generation).tolist()
    return [cut_at_end(list(row[begun:]), end) for row in rows], [cut_at_end(row, end) for row in wanted]


def cut_at_end(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
