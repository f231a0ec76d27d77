"""`qkv memory`: a translation memory: add translations, search them, and export them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Flag, OptionalLanguage, Positional

if TYPE_CHECKING:
    from qkv.localization.entry import MemoryMatch

Action = Literal["add", "export", "search"]
ACTIONS = {
    "add": "add translations to a memory",
    "export": "write a memory as .tmx or .tsv",
    "search": "find translations of the same and of similar texts",
}
# Options that belong to one action alone.
ONLY = {
    "source_language": "add",
    "target_language": "add",
    "origin": "add",
    "overwrite": "export",
    "context": "search",
    "limit": "search",
}


@dataclass(frozen=True, kw_only=True)
class MemoryCommand:
    action: Positional[Action]
    """What to do: add, export or search."""
    memory: Positional[Path]
    """The file of the translation memory. `add` creates it."""
    given: Annotated[Positional[tuple[str, ...]], Flag(metavar="FILE|TEXT")]
    """Files to add (.tmx, .tsv, .jsonl, .po, or two text files); the file to write (.tmx or .tsv); or the text to search."""
    source_language: OptionalLanguage = None
    """add: such as en. Needed once, and only if neither the files nor their names say it."""
    target_language: OptionalLanguage = None
    """add: such as de."""
    origin: str | None = None
    """add: where the translations come from. By default what a .tmx says, or the name of the file."""
    overwrite: bool = False
    """export: replace the file if it exists."""
    context: str = ""
    """search: prefer translations in this context, such as a key or gettext's msgctxt."""
    limit: int = 5
    """search: the largest number of matches."""
    json: bool = False
    """Print the result as one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        MemoryCommand,
        arguments,
        prog="qkv memory",
        description="Keep translations by people in one file, and find them again:\n"
        "  qkv memory add MEMORY FILE...\n"
        "  qkv memory search MEMORY TEXT\n"
        "  qkv memory export MEMORY FILE",
    )
    check_options(command)
    {"add": add, "export": export, "search": search}[command.action](command)


def check_options(command: MemoryCommand) -> None:
    """An option of another action would be ignored."""
    for field in fields(command):
        action = ONLY.get(field.name, command.action)
        if action != command.action and getattr(command, field.name) != field.default:
            raise QkvError(f"--{field.name.replace('_', '-')} is an option of `qkv memory {action}` only.")
    if command.action != "add" and len(command.given) > 1:
        what = "FILE" if command.action == "export" else "TEXT, in quotation marks"
        raise QkvError(f"`qkv memory {command.action}` takes one {what}.")


def add(command: MemoryCommand) -> None:
    from qkv.localization.memory import Memory
    from qkv.localization.reading import count_entries, groups_of, read_files, with_progress
    from qkv.progress.display import command_display

    groups = groups_of([Path(each) for each in command.given])
    total = sum(count_entries(group[0]) for group in groups)  # also finds missing files first
    with (
        Memory.open(
            command.memory, source_language=command.source_language, target_language=command.target_language
        ) as memory,
        command_display().progress("translations", max(1, total)) as advance,
    ):
        results = []
        for group in groups:
            found = read_files(group, memory.languages, command.origin)
            entries = with_progress(found.entries, advance)
            results.append(memory.add_entries(entries, found.languages, found.name))
        size = len(memory)
    read, new, updated = (sum(getattr(each, name) for each in results) for name in ("read", "new", "updated"))
    if command.json:
        from qkv.cli.reports import print_json

        print_json(
            {"memory": str(command.memory), "read": read, "new": new, "updated": updated, "entries": size}
        )
        return
    print(f"read {read:,} translations: {new:,} new, {updated:,} updated; {command.memory} has {size:,}")


def export(command: MemoryCommand) -> None:
    from qkv.localization.exporting import export_entries
    from qkv.localization.memory import Memory
    from qkv.progress.display import command_display

    output = Path(command.given[0])
    with (
        Memory.open(command.memory, create_missing=False) as memory,
        command_display().progress("translations", max(1, len(memory))) as advance,
    ):
        count = export_entries(memory, output, overwrite=command.overwrite, advance=advance)
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"output": str(output), "entries": count})
        return
    print(f"wrote {count:,} translations to {output}")


def search(command: MemoryCommand) -> None:
    from qkv.localization.memory import Memory

    [text] = command.given
    with Memory.open(command.memory, create_missing=False) as memory:
        matches = memory.search(text, context=command.context, limit=command.limit)
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"text": text, "matches": [match.to_dict() for match in matches]})
        return
    show(matches)


def show(matches: Sequence[MemoryMatch]) -> None:
    from qkv.cli.reports import print_text, printable
    from qkv.progress.delayed import warn

    if not matches:
        warn("nothing in the memory is like this text.")
    for match in matches:
        where = [f"context {match.context}"] if match.context else []
        where += [match.origin] if match.origin else []
        print_text(
            printable(", ".join([f"{match.level} {int(100 * match.score)} %", *where, match.date[:10]]))
        )
        print_text(f"  {printable(match.source)}\n  {printable(match.target)}")
    sys.stdout.flush()
