"""Every option of a command is a keyword argument in Python, with the same name and default.

Add a command to COMMANDS: its dataclass, the functions that take its options, and what has no keyword, with the reason.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from typing import Any

import pytest

import qkv
from qkv.cli.classify import Classify
from qkv.cli.fields import is_missing, option_fields, value_at
from qkv.cli.string_types import STRING_TYPES
from qkv.families.bert.commands.embed import Embed
from qkv.families.bert.commands.fill import Fill
from qkv.families.bert.commands.similar import Similar
from qkv.families.dalle.commands.draw import Draw
from qkv.families.gpt.commands.generate import Generate
from qkv.families.translator.commands.translate import Translate
from qkv.signatures import options_of

PRESENTATION = {"json", "quiet", "verbose", "config", "print_config"}


@dataclass(frozen=True, kw_only=True)
class InPython:
    options: Any
    """The dataclass of the command."""
    functions: tuple[Callable[..., Any], ...]
    elsewhere: frozenset[str] = frozenset()
    """Options that are something else in Python: the input itself, or another function."""
    optional: frozenset[str] = frozenset()
    """Options that a command needs and Python does not."""


COMMANDS = {
    "translate": InPython(
        options=Translate,
        functions=(qkv.Translator.translate, qkv.Translator.translate_file, qkv.load),
        elsewhere=frozenset({"model", "text", "pivot"}),  # in Python two models, one after the other
    ),
    "generate": InPython(
        options=Generate,
        functions=(qkv.LanguageModel.generate, qkv.LanguageModel.compose, qkv.load),
        elsewhere=frozenset({"model", "prompt"}),
    ),
    "fill": InPython(options=Fill, functions=(qkv.Bert.fill, qkv.load), elsewhere=frozenset({"model", "text"})),
    "embed": InPython(
        options=Embed,
        functions=(qkv.Bert.embed, qkv.load),
        # Lines of a file are an iterator of texts, and NumPy saves arrays.
        elsewhere=frozenset({"model", "text", "input", "output", "overwrite"}),
    ),
    "similar": InPython(
        options=Similar,
        functions=(qkv.Bert.similar, qkv.load),
        # `labels` and `columns` belong to qkv.evaluate; pairs are the input of `similar`.
        elsewhere=frozenset({"model", "text", "pairs", "labels", "columns"}),
    ),
    "classify": InPython(
        options=Classify,
        functions=(qkv.ImageClassifier.classify, qkv.TextClassifier.classify, qkv.load),
        elsewhere=frozenset({"model", "inputs", "input", "labels", "columns"}),
    ),
    "draw": InPython(
        options=Draw,
        functions=(qkv.ImageGenerator.draw, qkv.load),
        elsewhere=frozenset({"model", "caption"}),
        optional=frozenset({"output"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_a_keyword_with_the_same_default(name: str) -> None:
    command = COMMANDS[name]
    known: dict[str, Any] = {}
    for function in reversed(command.functions):
        known |= {each.name: each.default for each in inspect.signature(function).parameters.values()}
    defaults = {each.path: each.default for each in options_of(command.options)}
    for field in option_fields(command.options):
        option = field.path[-1]
        if option in command.elsewhere or (option in PRESENTATION and option not in known):
            continue
        assert option in known, f"qkv {name}: {field.flag} is no keyword"
        if option in command.optional or (
            is_missing(field.default) and known[option] is inspect.Parameter.empty
        ):
            continue
        if option in ("input", "output") and known[option] is inspect.Parameter.empty:
            continue  # translate_file is for files alone
        assert known[option] == defaults[field.path], option


@pytest.mark.parametrize("name", COMMANDS)
def test_no_exception_is_stale(name: str) -> None:
    command = COMMANDS[name]
    flags = {field.path[-1] for field in option_fields(command.options)}
    assert command.elsewhere | command.optional <= flags


def test_string_types_are_compared_as_values() -> None:
    """A glossary is a file on the command line, and its default an empty glossary in both."""
    assert qkv.Glossary in STRING_TYPES
    parameter = inspect.signature(qkv.Translator.translate).parameters["glossary"]
    assert parameter.default == qkv.Glossary()
    assert value_at(Translate(model=MISSING), ("options", "glossary")) == qkv.Glossary()  # type: ignore[arg-type]
