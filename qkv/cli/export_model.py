"""`qkv export`: a bundle in the format of another library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from qkv.cli.options import read_options
from qkv.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Export:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    to: Literal["huggingface", "ctranslate2"]
    """For transformers, or for CTranslate2."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write."""
    numbers: Literal["float32", "int8"] = "float32"
    """For CTranslate2: how weights are stored."""
    source: Path | None = None
    """For CTranslate2: lines to translate with both, so that the difference in BLEU can be told."""
    target: Path | None = None
    """Reference translations of --source, line by line."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Export,
        arguments,
        prog="qkv export",
        description=(
            "Write a model for transformers or CTranslate2, open it there, and say how far the two are apart:\n"
            "  qkv export runs/en-de --to huggingface -o en-de-hf"
        ),
    )
    if (command.source is None) != (command.target is None):
        raise UserError("--source and --target go together: sentences, and what they should become.")
    if command.to == "huggingface":
        if command.numbers != "float32" or command.source is not None:
            raise UserError("--numbers, --source and --target are for CTranslate2.")
        to_huggingface(command)
    else:
        to_ctranslate2(command)


def to_huggingface(command: Export) -> None:
    from qkv.cli.terminal import say
    from qkv.hub.exporting import export_to_transformers

    exported = export_to_transformers(command.model, command.out)
    say(exported.proof.sentence())
    if exported.greedy is not None:
        say(f"greedy output of {exported.greedy} probes is the same")
    say(f"transformers opens {command.out} as {exported.class_name}")


def to_ctranslate2(command: Export) -> None:
    raise UserError("not yet")
