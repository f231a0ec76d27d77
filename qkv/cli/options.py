"""Read the options of a command. A mistake becomes one short error message."""

import io
import re
import sys
from collections.abc import Collection
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypeVar

import tyro

from qkv.cli.fields import OptionField, names_in, option_fields
from qkv.cli.help import HELP_ALL, help_text, wants_help
from qkv.cli.mistakes import find_mistake
from qkv.cli.renamed import new_name
from qkv.cli.string_types import REGISTRY
from qkv.environment import with_variable
from qkv.errors import UserError

Command = TypeVar("Command")
WIDE = "2000"  # columns: tyro must not wrap its messages
LONG = 1_000  # characters: the time tyro takes to suggest an option is quadratic
PART = "\n"  # between the parts of an error box


def read_options(
    kind: type[Command],
    arguments: list[str],
    *,
    prog: str,
    description: str,
    default: Command | None = None,
    common: Collection[str] | None = None,
) -> Command:
    """Parse the arguments of a command, or print its help and exit.

    Args:
        kind: A dataclass. Its fields are the options, their docstrings the help.
        arguments: What follows the command's name.
        prog: The command, as the user types it.
        description: The beginning of the help.
        default: An instance with the defaults, if they differ from the class's.
        common: Names of the options that `--help` shows; `--help-all` shows the rest. None for all.
    """
    fields = option_fields(kind, default)
    if wants_help(arguments):
        sys.stdout.write(help_text(prog, description, fields, common, everything=HELP_ALL in arguments))
        sys.exit(0)
    check_renamed(prog, fields, arguments)
    if any(len(argument) > LONG for argument in arguments):
        mistake = find_mistake(prog, fields, arguments)
        if mistake:
            raise UserError(mistake)
    box = io.StringIO()
    try:
        with with_variable("COLUMNS", WIDE), redirect_stderr(box):
            return parse(kind, arguments, prog, default)
    except SystemExit as end:
        if not end.code:  # tyro has printed the completions of a shell
            raise
        raise UserError(find_mistake(prog, fields, arguments) or first_sentence(box.getvalue())) from None


def check_renamed(prog: str, fields: list[OptionField], arguments: list[str]) -> None:
    """Name the new flag for a flag of version 0.1."""
    known = {name for field in fields for name in field.names}
    for name in sorted(names_in(arguments) - known):
        renamed = new_name(prog, name)
        if renamed in known:
            raise UserError(f"{name} is now {renamed}.")


def parse(kind: type[Command], arguments: list[str], prog: str, default: Any) -> Command:
    with REGISTRY:
        command: Command = tyro.cli(
            kind,
            args=arguments,
            prog=prog,
            default=tyro.MISSING_NONPROP if default is None else default,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    return command


def check_output(option: str, path: Path) -> None:
    """Before the work starts: can this file be written?"""
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"{option} {path} cannot be written: give a file in a folder that exists.")


def first_sentence(box: str) -> str:
    """The first part of tyro's error box, on one line."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", box)
    rows = [row.strip("│ ") for row in plain.splitlines() if row[:1] not in ("╭", "╰")]
    text = " ".join(PART if set(row) <= {"─", "-"} else row for row in rows if row)
    if "╭" not in plain:  # without a frame, the title is a part of its own
        text = text.partition(PART)[2].strip()
    first = text.split(PART)[0].strip().rstrip(".")
    return f"{first}." if first else "the options cannot be read."
