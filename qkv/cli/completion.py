"""`qkv completion`: print a script that completes commands, options and values in a shell.

The script holds all names, so that a completion starts no Python. Print it again after an update.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qkv.cli.conventions import Conventions
from qkv.cli.fields import OptionField, has_any_length, option_fields, without_none
from qkv.cli.memory import ACTIONS
from qkv.cli.options import read_options
from qkv.cli.string_types import STRING_TYPES
from qkv.flags import Positional

Values = tuple[str, ...] | Literal["files", "folders", "text", "none"]
"""What follows a flag: choices, paths, something that cannot be completed, or nothing."""
FOLDERS = ("DIR", "MODEL")  # in place of a value in the help


@dataclass(frozen=True, kw_only=True)
class CompletionCommand:
    shell: Positional[Literal["bash", "zsh", "fish"]]
    """The shell: bash, zsh or fish."""


@dataclass(frozen=True, kw_only=True)
class Option:
    names: tuple[str, ...]
    values: Values
    summary: str


@dataclass(frozen=True, kw_only=True)
class Words:
    """What can follow a command."""

    summary: str
    options: Sequence[Option] = ()
    next: Mapping[str, str] | None = None
    """Words with their summaries, such as the kinds of `qkv train`. None for files."""


def main(arguments: list[str]) -> None:
    command = read_options(
        CompletionCommand,
        arguments,
        prog="qkv completion",
        description="Print a script that completes commands, options and values in your shell:\n"
        "  qkv completion bash > ~/.local/share/bash-completion/completions/qkv\n"
        "  qkv completion zsh > ~/.zfunc/_qkv    # with fpath+=~/.zfunc before compinit in ~/.zshrc\n"
        "  qkv completion fish > ~/.config/fish/completions/qkv.fish",
    )
    from qkv.cli.completion_scripts import SCRIPTS

    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(SCRIPTS[command.shell](all_words()))


def all_words() -> dict[str, Words]:
    """Everything that a user can type, by the words before it. The command alone is ""."""
    from qkv.cli import all_commands, trainings

    kinds = {name: each.summary for name, each in trainings().items()}
    names = {name: each.summary for name, each in all_commands().items()}
    [shell] = option_fields(CompletionCommand)
    shells = dict.fromkeys(typing.get_args(shell.hint), "")
    found = {
        "": Words(
            summary="",
            options=options_of([]),
            next={**names, "train": "train a model", "help": "explain a command"},
        ),
        "train": Words(summary="", options=options_of([]), next=kinds),
        "help": Words(
            summary="", next={**names, "train": "train a model", "conventions": "options of all commands"}
        ),
    }
    for name, summary in names.items():
        found[name] = Words(summary=summary, options=options_of([name]))
    found["memory"] = Words(summary=names["memory"], options=options_of(["memory"]), next=ACTIONS)
    for name, summary in ACTIONS.items():
        found[f"memory {name}"] = Words(summary=summary, options=options_of(["memory"]))
    for name, summary in kinds.items():
        found[f"train {name}"] = Words(summary=summary, options=options_of(["train", name]))
    found["completion"] = Words(summary=names["completion"], options=options_of([]), next=shells)
    return found


def options_of(words: list[str]) -> list[Option]:
    from qkv.cli.option_tables import tables_of, union

    table = union(tables_of(words)) if words else []
    shown = [field for field in (*table, *option_fields(Conventions)) if not field.positional]
    helps = [
        Option(names=("--help",), values="none", summary="Show the common options."),
        Option(names=("--help-all",), values="none", summary="Show all options."),
    ]
    return [
        *(option for field in shown for option in options_for(field)),
        *helps,
    ]


def options_for(field: OptionField) -> list[Option]:
    """One option, or two for a switch that is on by default: the summary says what it does when it is on."""
    summary = first_sentence(field.doc)
    if field.is_switch and field.default is True:
        on, off = field.switch(on=True), field.switch(on=False)
        return [
            Option(names=(on, *field.aliases), values="none", summary=summary),
            Option(names=(off,), values="none", summary=f"Turn off {on}"),
        ]
    return [Option(names=(field.flag, *field.aliases), values=values_of(field), summary=summary)]


def values_of(field: OptionField) -> Values:
    if field.is_switch:
        return "none"
    if field.hint in STRING_TYPES:
        return "files" if field.metavar == "FILE" else "text"
    hint = without_none(field.hint)
    if has_any_length(hint):
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) is Literal:
        return tuple(map(str, typing.get_args(hint)))
    if hint is Path:
        return "folders" if field.metavar in FOLDERS else "files"
    return "text"


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:;]) ", text, maxsplit=1)[0].rstrip(".:;")
