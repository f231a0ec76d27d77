"""`qkv learn`: learn from a reviewed file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.api.learning import LearnOptions, run_learn
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional


@dataclass(frozen=True, kw_only=True)
class Learn:
    reviewed: Annotated[Positional[Path], Flag(metavar="FILE")]
    """The file that `qkv translate` wrote and people corrected."""
    options: Annotated[LearnOptions, Flag(name="")] = field(default_factory=LearnOptions)
    json: bool = False
    """Print the result as one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Learn,
        arguments,
        prog="qkv learn",
        description="Compare a reviewed file with the report of its translation. What people accepted or changed enters a "
        "translation memory, and words that they replace again and again become terms for a glossary.",
    )
    from qkv.progress.display import command_display

    found = run_learn(command.reviewed, command.options, command_display())
    from qkv.cli.reports import print_json, print_text, printable

    if command.json:
        print_json(found.to_dict())
        return
    for line in str(found).split("\n"):
        print_text(printable(line))
