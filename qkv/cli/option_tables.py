"""The options of any command, without running it: for configuration files and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qkv.cli import all_commands, trainings
from qkv.cli.fields import OptionField
from qkv.cli.options import LIST_OPTIONS, ListedOptions
from qkv.families import bundle_kinds
from qkv.families.family import resolve

Table = list[OptionField]


def tables_of(words: Sequence[str]) -> list[Table]:
    """The tables of a command: `["train", "gpt"]`. What can be trained or evaluated in several ways has several."""
    if words[0] == "train":
        from qkv.cli.training_options import fields_of
        from qkv.training.command import nominal_command

        siblings = resolve(trainings()[words[1]].trainables)
        return [fields_of(each, nominal_command(each, None)) for each in siblings]
    if words[0] == "evaluate":
        references = dict.fromkeys(kind.evaluate for kind in bundle_kinds().values() if kind.evaluate)
        return [listed_options(resolve(reference)) for reference in references]
    return [listed_options(resolve(all_commands()[words[0]].run))]


def listed_options(main: Callable[[list[str]], Any]) -> Table:
    """The options that a command reads. It stops as soon as it has stated them."""
    try:
        main([LIST_OPTIONS])
    except ListedOptions as listed:
        return listed.fields
    raise AssertionError(f"{main.__module__} reads no options")


def union(tables: Sequence[Table]) -> Table:
    """All options of some tables, each once."""
    found: dict[str, OptionField] = {}
    for table in tables:
        for field in table:
            found.setdefault(field.name, field)
    return list(found.values())
