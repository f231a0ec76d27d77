"""`--print-config`: all options of a command as TOML, with their origin. `--config` reads it back, with the same result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from qkv.cli.config_files import RECIPE
from qkv.cli.expanding import COMMAND_LINE, Expanded
from qkv.cli.fields import OptionField, is_missing, names_in, value_at
from qkv.cli.mistakes import find_mistake
from qkv.cli.option_tables import Table, tables_of
from qkv.cli.parsing import convert, read_arguments
from qkv.cli.string_types import STRING_TYPES
from qkv.cli.toml_text import toml_line
from qkv.errors import QkvError
from qkv.training.trainable import Trainable

Row = tuple[str, str]  # a line of TOML, and where its value is from


def printed_config(words: Sequence[str], expanded: Expanded) -> str:
    if words[0] == "train":
        return training_config(words, expanded)
    table = fitting_table(tables_of(words), expanded.arguments)
    check(words, table, expanded.arguments)
    rows = [*given_rows(table, expanded), *default_rows(table, expanded)]
    return page(words, rows)


def fitting_table(tables: Sequence[Table], arguments: list[str]) -> Table:
    """The first table with all options that are given, or else the first, for the error message."""
    given = names_in(arguments)
    fitting = (table for table in tables if given <= {name for field in table for name in field.names})
    return next(fitting, tables[0])


def check(words: Sequence[str], table: Table, arguments: list[str]) -> None:
    mistake = find_mistake(f"qkv {' '.join(words)}", table, arguments)
    if mistake:
        raise QkvError(mistake)


def training_config(words: Sequence[str], expanded: Expanded) -> str:
    """The settings that the recipe chooses for these data are in a table of their own: they are not given options."""
    from qkv.cli.training_options import fields_of
    from qkv.training.settings import SettingsTable, parse_recipe

    trainable, command = final_command(words[1], expanded.arguments)
    given = replace(
        expanded, origins={name: origin for name, origin in expanded.origins.items() if name != RECIPE}
    )
    table = fields_of(trainable, command)
    own = [field for field in table if field.path[0] != "settings" and field.name != RECIPE]
    chosen = [field for field in table if field.path[0] == "settings" and field.name not in given.origins]
    recipe = parse_recipe(command.recipe)
    named = "this table" if isinstance(recipe, SettingsTable) else f'the recipe "{recipe}"'
    rows = [*given_rows(table, given), *default_rows(own, given)]
    lines = "\n".join(toml_line(field.name, value_at(command, field.path)) for field in chosen)
    return f"{page(words, rows)}\n[{RECIPE}]  # settings of {named}, for this amount of data\n{lines}\n"


def final_command(kind: str, arguments: list[str]) -> tuple[Trainable, Any]:
    """What `qkv train` would train, with the settings for these data. It reads the data and writes nothing."""
    from qkv.api.jobs import with_final_settings
    from qkv.cli.training import job_of

    job = job_of(kind, arguments)
    data = job.command.inputs.read(job.command.settings, lambda line: None)
    return job.trainable, with_final_settings(job, data.amount)


def page(words: Sequence[str], rows: Sequence[Row]) -> str:
    width = min(48, max((len(line) for line, _ in rows), default=0))
    lines = [f"{line:<{width}}  # {origin}" for line, origin in rows]
    return "\n".join([f"# qkv {' '.join(words)}", *lines]) + "\n"


def given_rows(table: Table, expanded: Expanded) -> Iterator[Row]:
    """Options that were given, with their values."""
    texts: list[str] = []
    values: dict[str, Any] = {}
    for field, name, words in read_arguments(table, expanded.arguments, texts):
        value = value_in(field, name, words)
        values[field.name] = [*values.get(field.name, []), *value] if field.repeated else value
    for field in table:
        if field.positional and texts:
            own = len(texts) if field.takes_many else 1
            values[field.name] = texts[:own] if field.takes_many else texts[0]
            texts = texts[own:]
        if field.name in values and (field.positional or field.name in expanded.origins):
            origin = expanded.origins.get(field.name, COMMAND_LINE)
            yield toml_line(field.name, values[field.name]), origin


def value_in(field: OptionField, name: str, words: list[str]) -> Any:
    if field.is_switch:
        return name != field.switch(on=False)
    return words[0] if field.hint in STRING_TYPES else convert(field.hint, words)


def default_rows(table: Table, expanded: Expanded) -> Iterator[Row]:
    """Options that were not given are comments: a given option can mean more than its default."""
    for field in table:
        if field.name in expanded.origins or field.positional:
            continue
        if field.default is None or is_missing(field.default):
            yield f"# {field.name.replace('-', '_')} =", "not set"
        else:
            yield f"# {toml_line(field.name, field.default)}", "default"
