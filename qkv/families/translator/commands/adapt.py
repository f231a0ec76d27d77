"""`qkv adapt`: adapt a translator to the translations of a project."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from qkv.api.adapting import AdaptCommand, run_adapt
from qkv.cli import program
from qkv.cli.options import read_options

DESCRIPTION = (
    "Adapt a translator to the translations of a project, for example\n"
    "  qkv adapt runs/en-de --memory project.qkvm --output runs/project\n\n"
    "It is fine-tuned on as many general pairs as pairs of the project. Learning rate and duration are chosen on held-out "
    "pairs. A model that loses too much general quality is not written. If the command is interrupted, the same command "
    "resumes it."
)


@dataclass(frozen=True, kw_only=True)
class Adapt(AdaptCommand):
    json: bool = False
    """Print the receipt as one JSON document at the end."""


def main(arguments: list[str]) -> None:
    command = read_options(Adapt, arguments, prog="qkv adapt", description=DESCRIPTION)
    from qkv.families.translator.adaptation.receipt import summary_lines
    from qkv.progress.display import command_display

    display = command_display()
    try:
        receipt = run_adapt(command, display)
    except KeyboardInterrupt:
        display.say("stopped. The same command resumes it.")
        sys.exit(130)
    if command.json:
        from qkv.cli.reports import print_json

        print_json(receipt)
        return
    for line in summary_lines(receipt):
        display.say(line)
    display.say(f'the adapted model is in {command.output}. Try: {program()} translate {command.output} "…"')
