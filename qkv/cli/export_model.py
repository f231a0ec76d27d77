"""`qkv export`: convert a bundle to the format of another library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qkv.cli.inputs import OptionalFile, OutputFolder
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Positional


@dataclass(frozen=True, kw_only=True)
class Export:
    model: Positional[Path]
    """Folder of the model."""
    to: Literal["huggingface", "ctranslate2"]
    """The library: transformers (huggingface) or CTranslate2."""
    output: OutputFolder
    """Folder for the exported model."""
    compute_type: Literal["float32", "int8"] = "float32"
    """For CTranslate2: number format of the weights."""
    source: OptionalFile = None
    """For CTranslate2: sentences to translate with both, to compare BLEU."""
    target: OptionalFile = None
    """Reference translations of --source, line by line."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Export,
        arguments,
        prog="qkv export",
        description=(
            "Convert a model for transformers or CTranslate2, open it there, and compare the outputs:\n"
            "  qkv export runs/en-de --to huggingface -o en-de-hf"
        ),
    )
    if (command.source is None) != (command.target is None):
        raise QkvError("give both --source and --target, or neither.")
    if command.to == "huggingface":
        if command.compute_type != "float32" or command.source is not None:
            raise QkvError("--compute-type, --source and --target are for CTranslate2.")
        to_huggingface(command)
    else:
        to_ctranslate2(command)


def to_huggingface(command: Export) -> None:
    from qkv.hub.exporting import export_to_transformers
    from qkv.progress.terminal import say

    exported = export_to_transformers(command.model, command.output)
    say(exported.proof.sentence())
    if exported.greedy is not None:
        say(f"greedy outputs of {exported.greedy} probes are the same")
    say(f"transformers opens {command.output} as {exported.class_name}")


def to_ctranslate2(command: Export) -> None:
    from qkv.data.lines import numbered_lines
    from qkv.evaluation.scores import score_translations
    from qkv.hub.exporting_ctranslate2 import export_to_ctranslate2
    from qkv.progress.terminal import say

    lines, references = (
        [] if path is None else [line for _, line in numbered_lines(path)]
        for path in (command.source, command.target)
    )
    if len(lines) != len(references):
        raise QkvError(
            f"{command.source} has {len(lines):,} lines but {command.target} has {len(references):,}; "
            "the files must match line by line."
        )
    exported = export_to_ctranslate2(command.model, command.output, command.compute_type, lines)
    say(exported.proof.sentence())
    if exported.opened_as != "Encoder":
        say(f"{exported.same} of {exported.total} greedy outputs are the same")
    if exported.translations is not None:
        ours, theirs = exported.translations
        own, other = (score_translations(each, references).bleu.value for each in (ours, theirs))
        say(
            f"greedy BLEU on {len(lines):,} sentences: {own:.2f} in qkv, {other:.2f} in CTranslate2 ({other - own:+.2f})"
        )
        same = sum(a == b for a, b in zip(ours, theirs, strict=True))
        say(f"{same:,} of {len(lines):,} translations are identical")
    say(f"ctranslate2.{exported.opened_as} opens {command.output}")
