"""`qkv import`: convert a published model to a bundle."""

import shlex
from dataclasses import dataclass, field
from typing import Annotated

from qkv.api.conversion import ImportOptions, run_import
from qkv.cli.inputs import OutputFolder
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional


@dataclass(frozen=True, kw_only=True)
class Import:
    model: Positional[str]
    """Folder in the format of Hugging Face, CTranslate2 or Marian, .argosmodel package, or the name of a model on the hub, such as Helsinki-NLP/opus-mt-en-de."""
    output: OutputFolder
    """Folder for the bundle."""
    options: Annotated[ImportOptions, Flag(name="")] = field(default_factory=ImportOptions)
    json: bool = False
    """Print one JSON document: the facts of the model, and how far its outputs are from those of the original."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Import,
        arguments,
        prog="qkv import",
        description=(
            "Convert a published model (Marian, GPT, GPT-2, BERT, ViT; translators of CTranslate2, Argos and Marian) to a bundle, and check\n"
            "that it computes the same:\n"
            "  qkv import Helsinki-NLP/opus-mt-en-de -o runs/en-de\n"
            "  qkv import translate-zh_en-1_9.argosmodel -o runs/zh-en"
        ),
    )
    from qkv.cli import program
    from qkv.progress.terminal import say

    imported = run_import(command.model, command.output, command.options)
    for name, value in imported.product.info().items():
        say(f"{name}: {value}")
    if imported.weights is not None:
        say(f"weights: {imported.weights}")
    if imported.proof is None:
        say(
            f"not compared with the original: install {imported.library} and import the model again to check it."
        )
    else:
        say(imported.proof.sentence())
    if command.json:
        from dataclasses import asdict

        from qkv.cli.reports import print_json

        compared = None if imported.proof is None else asdict(imported.proof)
        print_json({"output": str(command.output), "facts": imported.product.info(), "compared": compared})
    say(f"the model is in {command.output}. Try: {program()} info {shlex.quote(str(command.output))}")
