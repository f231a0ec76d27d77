"""`qkv check`: find mistakes in files with translations."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.api.checking import CheckOptions, run_check
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional

if TYPE_CHECKING:
    from qkv.api.checking import CheckReport

FOUND = 6  # exit code: 1 would be a bug in qkv
STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


@dataclass(frozen=True, kw_only=True)
class CheckCommand:
    files: Annotated[Positional[tuple[Path, ...]], Flag(metavar="FILE [FILE ...]")]
    """Files with translations: .po, .xliff, .ts, .tmx, .tsv; or files with one language, such as .json, together with --source."""
    options: Annotated[CheckOptions, Flag(name="")] = field(default_factory=CheckOptions)
    json: bool = False
    """Print the report as one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        CheckCommand,
        arguments,
        prog="qkv check",
        description="Find mistakes in files with translations: placeholders, tags, numbers, plural forms, punctuation, terms "
        "and more. The exit code is 6 if there are errors.",
    )
    from qkv.progress.display import command_display

    report = run_check(command.files, command.options, command_display())
    if command.json:
        from qkv.cli.reports import print_json

        print_json(report.to_dict())
    else:
        show(report)
    if report.failed:
        sys.exit(FOUND)


def show(report: "CheckReport") -> None:
    from rich.console import Console
    from rich.text import Text

    from qkv.cli.reports import printable

    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    console = Console(file=sys.stdout, highlight=False, emoji=False, soft_wrap=True)
    for finding in report.findings:
        where = f"{finding.file}:{finding.line}" if finding.line else finding.file
        fixed = " (corrected)" if finding.fixed else ""
        console.print(
            Text(f"{where}: "),
            Text(finding.severity, style=STYLES[finding.severity]),
            Text(printable(f": {finding.message} [{finding.check}]{fixed}")),
            sep="",
        )
        for text in (finding.source, finding.target):
            console.print(Text(f"  {printable(text)}", style="dim"))
    console.print(Text(report.summary))
