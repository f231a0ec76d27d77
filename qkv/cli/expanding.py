"""Options from files and from the environment become arguments of the command. What the command line gives comes first.

So a command reads its options in one way, wherever they were given.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qkv.cli.config_files import RECIPE, Source, StoredRun, config_source, is_run, read_config, variable
from qkv.cli.conventions import PREFIX, RESERVED, WORDS_FOR, Conventions
from qkv.cli.fields import OptionField, accepts_none, names_in
from qkv.cli.mistakes import is_option, mistake_in_value, shorten
from qkv.cli.option_tables import tables_of, union
from qkv.cli.parsing import convert, read_arguments
from qkv.cli.string_types import STRING_TYPES
from qkv.errors import QkvError
from qkv.families import trainings
from qkv.families.family import resolve

COMMAND_LINE = "command line"
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Expanded:
    arguments: list[str]
    """What follows the words of the command."""
    origins: Mapping[str, str]
    """Where each option was given, by name."""


def expand(words: Sequence[str], arguments: list[str], conventions: Conventions) -> Expanded:
    """The arguments of a command with the options from all places."""
    fields = union(tables_of(words))
    sources = [environment_source(fields, os.environ)]
    sources += [read_source(path, words) for path in reversed(conventions.config)]
    given = names_in(arguments)
    origins = {field.name: COMMAND_LINE for field in fields if given & set(field.names)}
    texts = texts_in(fields, arguments)
    added: list[str] = []
    file_texts: list[str] = []
    recipe: tuple[Any, str] | None = None
    for source in sources:
        for name, (field, value) in known_options(source, fields).items():
            if field.name in origins or (field.positional and texts):
                continue
            origins[field.name] = f"environment: {variable(name)}" if source.is_environment else source.origin
            if field.name == RECIPE and isinstance(value, dict | StoredRun):
                recipe = value, source.label(name)
            elif field.positional:
                file_texts += values_of(field, value, source.label(name))
            else:
                added += as_arguments(field, name, value, source.label(name))
    for place in sorted({origin for origin in origins.values() if origin != COMMAND_LINE}):
        log.debug("options from %s: %s", place, ", ".join(n for n, each in origins.items() if each == place))
    expanded = insert(arguments, added)
    if recipe is not None:
        expanded = insert(expanded, [f"--{RECIPE}={recipe_as_json(words[1], expanded, *recipe)}"])
    return Expanded(arguments=expanded + (["--", *file_texts] if file_texts else []), origins=origins)


def insert(arguments: list[str], options: list[str]) -> list[str]:
    """Options go after the others: one that takes many values would take what follows. After `--` there is text."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *options, *arguments[end:]]


def texts_in(fields: Sequence[OptionField], arguments: Sequence[str]) -> list[str]:
    """The positional arguments."""
    texts: list[str] = []
    with suppress(KeyError):  # the command reports an unknown option
        for _ in read_arguments(fields, arguments, texts):
            pass
    return texts


def environment_source(fields: Sequence[OptionField], environment: Mapping[str, str]) -> Source:
    """Options that variables name. A variable may belong to another command, so an unknown name is no error."""
    values: dict[str, Any] = {}
    for field in fields:
        for name in long_names(field):
            value = environment.get(variable(name), "")
            if value and not field.positional:
                many = field.takes_many or field.repeated or field.count > 1
                values[name] = shlex.split(value) if many else value
    wanted = {variable(name) for name in values} | RESERVED
    ignored = sorted(name for name in environment if name.startswith(PREFIX) and name not in wanted)
    if ignored:
        log.debug("not options of this command: %s", ", ".join(ignored))
    return Source(origin="environment", values=values, is_environment=True)


def read_source(path: Path, words: Sequence[str]) -> Source:
    content = read_config(path)
    if not is_run(content):
        return config_source(path, content)
    if words[0] != "train":
        raise QkvError(f"{path} holds the settings of a training run: give it to `qkv train`.")
    return run_source(path, words[1])


def run_source(path: Path, kind: str) -> Source:
    """The run.json of a run: the files that it read, and its settings as a recipe."""
    from qkv.checkpoint.files import read_sealed

    stored = read_sealed(path)
    if "files" not in stored:
        raise QkvError(f"{path} is of a run of `qkv demo`. Start the demo again.")
    if stored.get("kind") != kind:
        raise QkvError(f"{path} is of a run of `qkv train {stored.get('kind')}`, not of `qkv train {kind}`.")
    files: dict[str, Any] = stored["files"]
    names = {name for name, value in files.items() if value}
    siblings = [each for each in resolve(trainings()[kind].trainables) if each.needs <= names]
    default = max(siblings, key=lambda each: len(each.needs)).inputs().to_stored()
    changed = {name.replace("_", "-"): value for name, value in files.items() if value != default.get(name)}
    cache = {} if stored.get("data_cache") is None else {"data-cache": stored["data_cache"]}
    others = {"tensorboard": stored.get("tensorboard", False), RECIPE: StoredRun(stored, str(path)), **cache}
    return Source(origin=str(path), values={**changed, **others})


def known_options(source: Source, fields: Sequence[OptionField]) -> dict[str, tuple[OptionField, Any]]:
    """The options of a source by the names that it uses. Unknown and repeated ones are errors."""
    by_name = {name: field for field in fields for name in long_names(field)}
    found: dict[str, tuple[OptionField, Any]] = {}
    for name, value in source.values.items():
        if name not in by_name:
            raise QkvError(unknown_option(source, name, by_name))
        twin = next((other for other, (field, _) in found.items() if field is by_name[name]), None)
        if twin is not None:
            raise QkvError(f"{source.label(name)} and {twin.replace('-', '_')} are the same option.")
        found[name] = by_name[name], value
    return found


def long_names(field: OptionField) -> list[str]:
    """The names of an option in a file: its flags without dashes. A positional argument has one too."""
    flags = [name.removeprefix("--") for name in field.names if name.startswith("--")]
    return list(dict.fromkeys([field.name, *flags]))


def unknown_option(source: Source, name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0].replace('-', '_')}?" if near else "."
    return f"{source.origin}: unknown option {shorten(name.replace('-', '_'))}{hint}"


def as_arguments(field: OptionField, name: str, value: Any, label: str) -> list[str]:
    """The option as it would be on the command line."""
    if field.is_switch:
        return [field.switch(on=switch_value(field, name, value, label))]
    values = values_of(field, value, label)
    if field.repeated:
        return [f"--{field.name}={each}" for each in values]
    for each in values[1:]:
        if is_option(each):
            raise QkvError(f"{label}: '{shorten(each)}' starts with a dash: write ./ before a file name.")
    return [f"--{field.name}={values[0]}", *values[1:]] if values else []


def switch_value(field: OptionField, name: str, value: Any, label: str) -> bool:
    """Whether a switch is on. Its name may be that of the flag that turns it off: no_next_sentence."""
    found = WORDS_FOR.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise QkvError(f"{label} must be true or false, not '{shorten(str(value))}'.")
    negative = name != field.name and f"--{name}" == field.switch(on=False)
    return found is not negative


def values_of(field: OptionField, value: Any, label: str) -> list[str]:
    """The values of an option as texts, checked."""
    many = field.takes_many or field.repeated or field.count > 1
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and field.hint in STRING_TYPES:
        values, many = [",".join(map(str, value))], True
    if isinstance(value, list) and not many:
        raise QkvError(f"{label} takes one value, not a list.")
    texts = [text_of(field, each, label) for each in values]
    mistake = mistake_in_value(label, field, texts) if texts else None
    if mistake:
        raise QkvError(mistake)
    return texts


def text_of(field: OptionField, value: Any, label: str) -> str:
    if value is None and accepts_none(field.hint):
        return "None"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        shown = "null" if value is None else shorten(json.dumps(value, default=str))
        raise QkvError(f"{label} must be a text or a number, not {shown}: write a text in quotation marks.")
    return str(value)


def recipe_as_json(kind: str, arguments: list[str], recipe: Any, label: str) -> str:
    """The settings of a recipe in the groups of run.json. Unlike options they may be more than a model can use."""
    from qkv.cli.training_choice import choose_trainable
    from qkv.cli.training_options import fields_of
    from qkv.configs import from_dict
    from qkv.training.command import nominal_command
    from qkv.training.extension import current_settings

    trainable = choose_trainable(resolve(trainings()[kind].trainables), arguments)
    if isinstance(recipe, StoredRun):
        settings = from_dict(trainable.settings, current_settings(recipe.content), recipe.where)
        return json.dumps(asdict(settings), ensure_ascii=False)
    fields = [
        each for each in fields_of(trainable, nominal_command(trainable, None)) if each.path[0] == "settings"
    ]
    source = Source(origin=label, values={name.replace("_", "-"): value for name, value in recipe.items()})
    found: dict[str, Any] = {}
    for name, (field, value) in known_options(source, fields).items():
        put(found, field.path[1:], setting(field, name, value, source.label(name)))
    return json.dumps(found, ensure_ascii=False)


def setting(field: OptionField, name: str, value: Any, label: str) -> Any:
    if field.is_switch:
        return switch_value(field, name, value, label)
    return convert(field.hint, values_of(field, value, label))


def put(table: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value
