"""`qkv import`: weights that others have published become a bundle."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from qkv.cli import program
from qkv.cli.options import read_options
from qkv.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Import:
    folder: tyro.conf.Positional[Path]
    """Folder with config.json, model.safetensors and tokenizer.json (or vocab.txt) as they were published."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder for the model; it must not exist yet."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Import,
        arguments,
        prog="qkv import",
        description="Make a model of published weights: BERT, alone, as a classifier, or from sentence-transformers.",
    )
    from qkv.cli.terminal import say
    from qkv.hub.folders import open_folder

    if command.out.exists() and (not command.out.is_dir() or any(command.out.iterdir())):
        raise UserError(f"{command.out} already exists and is not empty: give another --out.")
    model = open_folder(command.folder)
    model.save(command.out)
    facts = model.facts()
    say(f"{facts['kind']}: {facts['parameters']} parameters, {facts['vocabulary']}")
    say(f"the model is in {command.out}: `{program()} info {shlex.quote(str(command.out))}` says what it is")
