"""`--help`: the common options of a command. `--help-all`: all of them."""

import shutil
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from qkv.cli.conventions import Conventions
from qkv.cli.fields import OptionField, is_missing, option_fields

MARGIN = 30  # columns for the flags
LONGEST_CHOICES = 48  # characters
HELP, HELP_ALL = ("-h", "--help"), "--help-all"
REPORT = "json"  # an option of every command that reports


def wants_help(arguments: Sequence[str]) -> bool:
    return bool({*HELP, HELP_ALL} & set(arguments))


def help_text(
    prog: str,
    description: str,
    fields: Sequence[OptionField],
    common: Collection[str] | None,
    *,
    everything: bool,
    needs: str = "",
) -> str:
    """The help of a command. `common` names the options to show first; None for all. `needs` are options that choose it."""
    width = max(60, min(110, shutil.get_terminal_size((100, 24)).columns))
    positional = [field for field in fields if field.positional]
    reports = [field for field in fields if field.name == REPORT]
    options = [field for field in fields if not field.positional and field not in reports]
    first = [field for field in options if common is None or field.name in common]
    rest = [field for field in options if field not in first]
    usage = " ".join([prog, *(format_positional(field) for field in positional), "[OPTIONS]"])
    parts = [f"usage: {usage}", wrap(description, width)]
    if positional:
        parts.append(section("Arguments", positional, width))
    if first:
        parts.append(section("Options", first, width))
    if rest and everything:
        parts.append(section("More options", rest, width))
    elif rest:
        parts.append(f"{len(rest)} more options: {' '.join(filter(None, [prog, needs, HELP_ALL]))}")
    conventions = [*option_fields(Conventions), *reports]
    if everything:
        parts.append(section("Conventions, as for every command", conventions, width))
    else:
        names = ", ".join(field.flag for field in conventions)
        parts.append(f"Also: {names}; see `qkv help conventions`.")
    return "\n\n".join(parts) + "\n"


def format_positional(field: OptionField) -> str:
    return field.metavar if is_missing(field.default) else f"[{field.metavar}]"


def wrap(text: str, width: int) -> str:
    """Wrap the text, but not indented lines, which hold commands."""
    lines = []
    for line in text.splitlines():
        lines += [line] if line.startswith(" ") else textwrap.wrap(line, width) or [""]
    return "\n".join(lines)


def section(title: str, fields: Sequence[OptionField], width: int) -> str:
    return "\n".join([f"{title}:", *(row(field, width) for field in fields)])


def row(field: OptionField, width: int) -> str:
    metavar, doc = shown_values(field)
    left = (
        metavar
        if field.positional
        else " ".join([", ".join([field.help_flag, *field.aliases]), metavar]).rstrip()
    )
    right = textwrap.wrap(f"{doc} {format_default(field)}".strip(), width - MARGIN - 2)
    indent = "\n" + " " * (MARGIN + 2)
    if len(left) >= MARGIN:
        return f"  {left}" + "".join(indent + line for line in right)
    return f"  {left:<{MARGIN}}" + indent.join(right)


def shown_values(field: OptionField) -> tuple[str, str]:
    """What stands for the value, and the text. Many choices are listed in the text."""
    if len(field.metavar) <= LONGEST_CHOICES or "|" not in field.metavar:
        return field.metavar, field.doc
    return field.name.upper(), f"{field.doc} One of {field.metavar.replace('|', ', ')}."


def format_default(field: OptionField) -> str:
    value = field.default
    if is_missing(value):
        return "" if field.positional else "[required]"
    if value is None or value is False or value == () or value == "":
        return ""
    return f"[default: {format_value(value)}]"


def format_value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(format_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    if value is True:
        return "on"
    return str(value) if isinstance(value, int | str | Path) else repr(value)
