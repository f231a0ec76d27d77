"""`qkv clean`: drop harmful pairs from a parallel corpus."""

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from qkv.api.cleaning import CleanOptions, run_clean
from qkv.cli.options import read_options
from qkv.flags import Flag

if TYPE_CHECKING:
    from qkv.api.cleaning import Cleaned

COMMON = {
    "pairs", "source", "target", "output", "report", "overwrite", "held-out", "source-language", "target-language", "processes",
    "max-length", "max-ratio", "language-confidence", "min-alignment",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Clean:
    options: Annotated[CleanOptions, Flag(name="")] = field(default_factory=CleanOptions)
    json: bool = False
    """Print the report as one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Clean,
        arguments,
        prog="qkv clean",
        common=COMMON,
        description="Drop pairs that are duplicates, in another language, misaligned, damaged or in a test set, "
        "and report what was dropped, with examples.",
    )
    from qkv.progress.display import command_display

    cleaned = run_clean(command.options, command_display(), keep=False)
    if command.json:
        from qkv.cli.reports import print_json

        print_json(cleaned.to_dict())
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    show(cleaned)


def show(cleaned: "Cleaned") -> None:
    from rich.console import Console

    from qkv.progress.terminal import escape_markup

    console = Console(file=sys.stdout, highlight=False, emoji=False)
    for text, kind in cleaned.lines():
        name, colon, rest = text.partition(":")
        if kind == "reason":
            console.print(f"[bold]{name}[/bold]{colon}{rest}")
        elif kind == "example":
            console.print(escape_markup(text), soft_wrap=True, style="dim")
        else:
            console.print(text)
