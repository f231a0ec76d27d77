"""An option of a translation is stated once: its name, type, default and help text."""

import ast
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from qkv.cli.fields import option_fields
from qkv.cli.string_types import STRING_TYPES
from qkv.engine import PlainRequest
from qkv.families.translator import options as options_module
from qkv.families.translator.commands.translate import Translate
from qkv.families.translator.options import DEFAULTS, TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.search import (
    BY_REQUESTS,
    BY_THE_CALLER,
    OBEYED,
    OBEYED_OF_A_REQUEST,
    ONLY_BY_DEFAULT,
    Kind,
    Request,
    Search,
    kind_of,
    plain_request,
    plain_search,
)

NAMES = [each.name for each in fields(TranslationOptions)]
FOLDER = Path(options_module.__file__).parent


def test_every_option_is_a_flag_with_the_same_default_and_a_help_text() -> None:
    flags = {each.path[-1]: each for each in option_fields(Translate) if each.path[0] == "options"}
    assert list(flags) == NAMES
    for name, flag in flags.items():
        default = getattr(DEFAULTS, name)
        spelled = STRING_TYPES.get(flag.hint)
        assert flag.default == (default if spelled is None else spelled.show(default)), name
        assert flag.name == name.replace("_", "-")
        assert flag.doc, name


@pytest.mark.parametrize("path", ["product.py", "text_search.py", "commands/translate.py", "segments.py"])
def test_no_other_place_states_an_option(path: str) -> None:
    """Neither as a field of a class nor as a parameter with a default."""
    for node in ast.walk(ast.parse((FOLDER / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            stated = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            assert not {ast.unparse(each) for each in stated} & set(NAMES), node.name
        if isinstance(node, ast.FunctionDef):
            with_default = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            named = [*with_default, *(each for each, default in keywords if default is not None)]
            assert not {each.arg for each in named} & set(NAMES) - {"prefix"}, node.name


@pytest.mark.parametrize("method", ["translate", "atranslate", "translate_file", "stream", "alternatives"])
def test_python_takes_every_option_by_name(method: str) -> None:
    parameters = signature(getattr(Translator, method)).parameters
    assert set(NAMES) <= set(parameters)


def test_options_need_no_torch() -> None:
    code = "import sys, qkv.families.translator.options; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What the engine's own search is given ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MoreOptions(TranslationOptions):
    new: bool = False


@dataclass(frozen=True, kw_only=True)
class MoreRequests(Request):
    new: bool = False


def search(options: TranslationOptions) -> Search:
    return Search(options=options, beam=2, length_penalty=1.0)


def test_the_engine_searches_with_options_that_it_supports() -> None:
    found = plain_search(
        search(TranslationOptions(num_hypotheses=3, patience=2.0, target_language="de")), never=None
    )
    assert found is not None
    assert (found.width, found.best, found.patience) == (3, 3, 6)
    plain = plain_request(Request(source=[5, 6]), [5, 6, 2], limit=9)
    assert plain is not None
    assert (plain.source, plain.limit) == ([5, 6, 2], 9)


@pytest.mark.parametrize(
    "options",
    [
        TranslationOptions(coverage_penalty=1.0),
        TranslationOptions(repetition_penalty=1.1),
        TranslationOptions(sample=True),
        TranslationOptions(sample=True, top_k=3),
        MoreOptions(),
    ],
    ids=str,
)
def test_an_option_that_the_engine_does_not_know_goes_to_the_general_search(
    options: TranslationOptions,
) -> None:
    assert plain_search(search(options), never=None) is None


def test_a_request_with_a_rule_that_the_engine_does_not_know_goes_to_the_general_search() -> None:
    assert plain_request(MoreRequests(source=[5]), [5, 2], limit=9) is None


def test_the_engine_is_told_every_rule_of_a_request() -> None:
    request = Request(source=[5], prefix=(3,), contain=((4, 5), (6,)), once=1, avoid=(0, 2))
    assert plain_request(request, [5, 2], limit=9) == PlainRequest(
        [5, 2], 9, prefix=(3,), avoid=(0, 2), contain=((4, 5), (6,)), once=1
    )
    kind = kind_of(
        replace(request, beams=3, whole=True, no_repeat_ngram_size=2), search(TranslationOptions())
    )
    assert kind == Kind(no_repeat_ngram_size=2, whole=True, listed=False, constrained=True, width=3)


def test_every_option_is_listed_for_the_engine() -> None:
    """A name that was changed here and not there would send every translation to the general search."""
    assert set(NAMES) == OBEYED | BY_REQUESTS | BY_THE_CALLER | ONLY_BY_DEFAULT
    assert {each.name for each in fields(Request)} == OBEYED_OF_A_REQUEST


@pytest.mark.parametrize("given", [{"temperature": 0.5}, {"seed": 1}, {"top_k": 3, "min_p": 0.1}], ids=str)
def test_options_of_sampling_need_sampling(given: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="can only be used with `sample`"):
        TranslationOptions(**given)
    assert TranslationOptions(sample=True, **given).sampling is not None
