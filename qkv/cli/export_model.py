"""`qkv export`: convert a bundle to the format of another library."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.api.conversion import ExportOptions, Library, run_export
from qkv.cli.inputs import OutputFolder
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional


@dataclass(frozen=True, kw_only=True)
class Export:
    model: Positional[Path]
    """Folder of the model."""
    to: Library
    """The library: transformers (huggingface) or CTranslate2."""
    output: OutputFolder
    """Folder for the exported model."""
    options: Annotated[ExportOptions, Flag(name="")] = field(default_factory=ExportOptions)
    json: bool = False
    """Print one JSON document: the class that opens the model, and how far its outputs are from ours."""


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
    from qkv.progress.terminal import say

    report = run_export(command.model, command.to, command.output, command.options)
    for line in report.lines:
        say(line)
    if command.json:
        from qkv.cli.reports import print_json

        print_json(report.to_dict())
