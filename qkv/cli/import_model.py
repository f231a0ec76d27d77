"""`qkv import`: convert a published model to a bundle."""

import shlex
from dataclasses import dataclass

from qkv.cli.inputs import OutputFolder
from qkv.cli.options import read_options
from qkv.flags import Positional


@dataclass(frozen=True, kw_only=True)
class Import:
    model: Positional[str]
    """Folder in Hugging Face format, or the name of a model on the hub, such as Helsinki-NLP/opus-mt-en-de."""
    output: OutputFolder
    """Folder for the bundle."""
    target_language: str | None = None
    """For a multilingual translator: the default target language."""
    pairs: bool = False
    """For a text classifier: it takes pairs of texts. Published models rarely state this."""
    revision: str | None = None
    """Branch, tag or commit of a model on the hub."""
    allow_pickle: bool = False
    """Also read weights from a pickled .bin file, with torch's restricted loader."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Import,
        arguments,
        prog="qkv import",
        description=(
            "Convert a published model (Marian, GPT, GPT-2, BERT, ViT) to a bundle, and check that it computes the same:\n"
            "  qkv import Helsinki-NLP/opus-mt-en-de -o runs/en-de"
        ),
    )
    from qkv.cli import program
    from qkv.hub.download import folder_of
    from qkv.hub.importing import check_not_existing, import_model
    from qkv.progress.terminal import say

    check_not_existing(command.output)
    folder = folder_of(command.model, revision=command.revision, allow_pickle=command.allow_pickle)
    imported = import_model(
        folder,
        command.output,
        origin=command.model,
        language=command.target_language,
        pairs=command.pairs,
        allow_pickle=command.allow_pickle,
    )
    for name, value in imported.product.info().items():
        say(f"{name}: {value}")
    if imported.proof is None:
        say("not compared with the original: install transformers and import the model again to check it.")
    else:
        say(imported.proof.sentence())
    say(f"the model is in {command.output}. Try: {program()} info {shlex.quote(str(command.output))}")
