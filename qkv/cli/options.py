"""Read the options of a command. A mistake becomes one short error message."""

import io
import re
import sys
from collections.abc import Callable, Collection
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypeVar

import tyro

from qkv.cli.fields import names_in, option_fields
from qkv.cli.help import HELP_ALL, help_text, wants_help
from qkv.cli.renamed import new_name
from qkv.cli.string_types import REGISTRY
from qkv.environment import with_variable
from qkv.errors import UserError

Command = TypeVar("Command")
WIDE = "2000"  # columns: tyro must not wrap its messages
PART = "\n"  # between the parts of what is said


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
    if wants_help(arguments):
        fields = option_fields(kind, default)
        sys.stdout.write(help_text(prog, description, fields, common, everything=HELP_ALL in arguments))
        sys.exit(0)
    for name in sorted(names_in(arguments)):
        renamed = new_name(prog, name)
        if renamed is not None:
            raise UserError(f"{name} is now {renamed}.")
    complaint = io.StringIO()
    try:
        with with_variable("COLUMNS", WIDE), redirect_stderr(complaint):
            return parsed(kind, arguments, prog, default)
    except SystemExit as end:
        if not end.code:  # a shell's completions were printed
            raise
        raise UserError(f"{one_sentence(complaint.getvalue())} See `{prog} --help`.") from None


def parsed(kind: type[Command], arguments: list[str], prog: str, default: Any) -> Command:
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
    """Before the work whose results go there: is there a place for the file?"""
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"{option} {path} cannot be written: give a file in a folder that exists.")


def one_sentence(box: str) -> str:
    """What tyro draws as a box in several parts, said in one sentence; in its own words where they are new."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", box)
    rows = [row.strip("│ ") for row in plain.splitlines() if row[:1] not in ("╭", "╰")]
    text = " ".join(PART if set(row) <= {"─", "-"} else row for row in rows if row)
    if "╭" not in plain:  # where the terminal knows no frames, the title is a part like the others
        text = text.partition(PART)[2].strip()
    for pattern, say in SENTENCES.items():
        found = re.match(pattern, text)
        if found:
            return say(found, text)
    first = text.split(PART)[0].strip().rstrip(".")
    return f"{first}." if first else "the options cannot be read."


def unknown(found: re.Match[str], text: str) -> str:
    name = found[1]
    near = re.search(r"Perhaps you meant:\s+(--[\w.-]+)", text)
    return (
        f"unrecognized argument {name}; did you mean {near[1]}?" if near else f"unrecognized argument {name}."
    )


def not_a_choice(found: re.Match[str], text: str) -> str:
    choices = found[3].replace("'", "").rstrip(",")
    return f"{found[2]} cannot be '{found[1]}', only one of {choices}."


def not_a_value(found: re.Match[str], text: str) -> str:
    """The value is quoted, in a list where there may be several; the explanation below says what kind it should be."""
    name, reason = found[1], text.split(PART)[0]
    several = re.search(r"\[(.*?)\]", reason)
    values = re.findall(r"'([^']*)'", several[1] if several else reason)
    explained = re.search(
        rf"Argument helptext: {re.escape(name)} (?:\{{None\}}\|)?\{{?([A-Z]+(?: [A-Z]+)*)\b", text
    )
    kind = KINDS.get(explained[1]) if explained else None
    return f"{name} cannot be '{' '.join(values)}'" + (f": it takes {kind}." if kind else ".")


def missing(found: re.Match[str], text: str) -> str:
    name, what = found[1].split(maxsplit=1)
    return (
        f"{name} is missing." if name.startswith("-") else f"{name} is missing: {what[0].lower()}{what[1:]}"
    )


KINDS = {
    "INT": "a whole number",
    "FLOAT": "a number",
    "FLOAT FLOAT": "two numbers",
    "STR STR": "two words",
}
SENTENCES: dict[str, Callable[[re.Match[str], str], str]] = {
    r"Unrecognized options: ([^\s,]+)": unknown,
    r"invalid choice '(.*?)' for argument '(.*?)'\. Expected one of \((.*?)\)": not_a_choice,
    r"Error parsing (\S+):": not_a_value,
    r"Missing value for argument '(.*?)'": lambda found, text: f"{found[1]} needs a value after it.",
    r"Missing from .*?: (.*?) \(required\)": missing,
}
