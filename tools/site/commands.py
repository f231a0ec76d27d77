"""The reference of the command line: a page for each command, from the tables that the commands themselves use."""

import html
import os
from collections.abc import Iterator, Sequence

from qkv.cli import all_commands, trainings
from qkv.cli.fields import OptionField, is_missing
from qkv.cli.help import format_default
from qkv.cli.option_tables import tables_of, union

TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}


def command_pages() -> dict[str, str]:
    os.environ.update(TERMINAL)
    names = [*([name] for name in all_commands()), *(["train", name] for name in trainings())]
    summaries = {
        **{name: command.summary for name, command in all_commands().items()},
        **{f"train {name}": training.summary for name, training in trainings().items()},
    }
    pages = {page_of(words): command_page(words, summaries[" ".join(words)]) for words in names}
    rows = [
        f"| [`qkv {' '.join(words)}`]({page_of(words).partition('/')[2]}) | {summaries[' '.join(words)]} |"
        for words in names
    ]
    overview = [
        "# Commands",
        "",
        "The conventions of all commands are on [one page](../command-line.md).",
        "",
    ]
    pages["commands/index.md"] = "\n".join([*overview, "| command | what it does |", "|---|---|", *rows, ""])
    return pages


def page_of(words: Sequence[str]) -> str:
    return f"commands/{'-'.join(words)}.md"


def command_page(words: Sequence[str], summary: str) -> str:
    return "\n".join(
        [f"# qkv {' '.join(words)}", "", sentence(summary), "", *table(union(tables_of(words))), ""]
    )


def table(fields: Sequence[OptionField]) -> Iterator[str]:
    yield from ("| option | meaning |", "|---|---|")
    for field in fields:
        names = field.metavar if field.positional else ", ".join([field.help_flag, *field.aliases])
        value = "" if field.positional or field.is_switch else f" {field.metavar}"
        default = format_default(field) if not is_missing(field.default) or not field.positional else ""
        yield f"| <code>{cell(names + value)}</code> | {cell(f'{field.doc} {default}'.strip())} |"


def cell(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False).replace("|", "&#124;")


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
