"""`qkv import`: a published model becomes a bundle."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from qkv.cli.options import read_options


@dataclass(frozen=True, kw_only=True)
class Import:
    model: tyro.conf.Positional[str]
    """Folder in Hugging Face's layout, or the name of a model on its hub, such as Helsinki-NLP/opus-mt-en-de."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o", "--out"])]
    """Folder for the bundle."""
    target_language: str | None = None
    """For a translator into several languages: the code of the one that is wanted where a text does not say."""
    pairs: bool = False
    """For a classifier of texts: it compares two texts, which published folders seldom say."""
    revision: str | None = None
    """Of a model on the hub: a branch, a tag or a commit."""
    allow_pickle: bool = False
    """Read weights from a pickled .bin file too, by torch's restricted loader."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Import,
        arguments,
        prog="qkv import",
        description=(
            "Make a bundle of a published model (Marian, GPT, GPT-2, BERT, ViT), and prove that it computes the same:\n"
            "  qkv import Helsinki-NLP/opus-mt-en-de -o runs/en-de"
        ),
    )
    from qkv.cli import program
    from qkv.cli.terminal import say
    from qkv.hub.download import folder_of
    from qkv.hub.importing import import_model, refuse_taken

    refuse_taken(command.output)
    folder = folder_of(command.model, revision=command.revision, allow_pickle=command.allow_pickle)
    imported = import_model(
        folder,
        command.output,
        origin=command.model,
        language=command.target_language,
        pairs=command.pairs,
        allow_pickle=command.allow_pickle,
    )
    for name, value in imported.product.facts().items():
        say(f"{name}: {value}")
    if imported.proof is None:
        say("not compared with the original: install transformers, and import it again for a proof.")
    else:
        say(imported.proof.sentence())
    say(f"the model is in {command.output}: try  {program()} info {shlex.quote(str(command.output))}")
