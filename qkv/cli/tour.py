"""`qkv tour`: train, translate, look inside and serve, one explained step at a time."""

import shlex
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qkv.cli import program
from qkv.cli.inputs import OutputFolder
from qkv.cli.options import read_options
from qkv.errors import QkvError

if TYPE_CHECKING:
    from qkv.cli.tour_steps import Step

WIDTH = 88
QUESTION = "[Enter] run   [s] skip   [q] quit: "


@dataclass(frozen=True, kw_only=True)
class Tour:
    model: Path | None = None
    """Folder of a translator to use instead of training one (default: runs/demo, if it is there)."""
    output: OutputFolder = Path("runs/tour")
    """Folder for the model that the tour trains. A model that is there already is used."""
    yes: bool = False
    """Run all steps without questions."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Tour,
        arguments,
        prog="qkv tour",
        description="Get to know qkv in about five minutes: train a small translator, use it, look inside it and serve it. "
        "Each step is explained and can be skipped. No network is needed.",
    )
    if not command.yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise QkvError("the tour asks before each step, which needs a terminal: give --yes to run all steps.")
    from qkv.cli.tour_steps import choose_model, steps_of

    model = choose_model(command.model, command.output)
    steps = steps_of(model, given=command.model is not None)
    tell("Welcome to qkv. Four steps show what it does: train, translate, look inside, serve.")
    for number, step in enumerate(steps, 1):
        print(f"\n{number} of {len(steps)}: {step.title}\n")
        tell(step.explanation)
        if not take(step, yes=command.yes):
            break
    show_next(model, command.output)


def take(step: "Step", *, yes: bool) -> bool:
    """Run a step, unless something is missing or the user skips it. False means that the user quits."""
    obstacle = step.obstacle()
    if obstacle is not None:
        print(f"Skipped: {obstacle}")
        return True
    print(f"\n$ {step.command}", flush=True)
    answer = "" if yes else ask()
    if answer == "":
        step.run()
        sys.stdout.flush()
    return answer != "q"


def ask() -> str:
    """Enter, s or q. The end of the input quits."""
    while True:
        try:
            answer = input(QUESTION).strip().lower()
        except EOFError:
            print()
            return "q"
        if answer in ("", "s", "q"):
            return answer


def show_next(model: Path, output: Path) -> None:
    print("\nWhere to go next:")
    folder = shlex.quote(str(model))
    if model.exists():
        print(f"  {program()} explore {folder}")
        print(f"  {program()} translate {folder} --input FILE --output FILE")
    print(f"  {program()} train translator --source YOURS.en --target YOURS.de --output runs/mine")
    print(f"  {program()} --help")
    if model == output and output.exists():
        print(f"The model is in {folder}. If you do not need it, delete this folder.")


def tell(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False))
