"""Every public name has a docstring, and its example runs as it is written."""

import asyncio
import doctest
import inspect
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import PIL.Image
import pytest

import qkv
from qkv.families.tracing import trace

NAMES = sorted(set(qkv.__all__) - {"__version__"})
SECTIONS = ("Args:", "Returns:", "Yields:", "Raises:", "Example:")


def members_of(kind: type) -> dict[str, Any]:
    """The public methods and properties of a class that qkv defines, the one that is used of each."""
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.split(".")[0] == "qkv":
            found |= {name: each for name, each in vars(base).items() if not name.startswith("_")}
    return {
        name: each
        for name, each in found.items()
        if isinstance(each, FunctionType | property | classmethod | staticmethod)
    }


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, qkv.Model)


def public_docs() -> dict[str, str]:
    """The docstring of every public name, and of every member of a public class."""
    found = {}
    for name in NAMES:
        each = getattr(qkv, name)
        found[name] = inspect.getdoc(each) or ""
        for member in members_of(each) if isinstance(each, type) else ():
            found[f"{name}.{member}"] = inspect.getdoc(getattr(each, member)) or ""
    return found


DOCS = public_docs()
EXAMPLES = {doc: name for name, doc in reversed(DOCS.items()) if ">>>" in doc}  # what is inherited runs once


@pytest.fixture(scope="module")
def workshop(saved_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder for all examples: they write to different files."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(saved_models, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.mark.parametrize("doc", EXAMPLES, ids=EXAMPLES.get)
@pytest.mark.usefixtures("workshop")
def test_the_example_runs(doc: str) -> None:
    names = {"qkv": qkv, "asyncio": asyncio, "np": np, "PIL": PIL, "Path": Path}
    test = doctest.DocTestParser().get_doctest(doc, names, EXAMPLES[doc], None, None)
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted
    assert not result.failed, "".join(said)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    assert ">>>" in DOCS[name], f"qkv.{name} has no example"
    missing = [member for member, doc in DOCS.items() if member.startswith(f"{name}.") and not doc]
    assert missing == []


@pytest.mark.parametrize("name", [name for name in NAMES if is_model(getattr(qkv, name))])
def test_every_member_of_a_model_has_an_example(name: str) -> None:
    without = [member for member, doc in DOCS.items() if member.startswith(f"{name}.") and ">>>" not in doc]
    assert without == []


def functions() -> dict[str, Any]:
    found = {name: getattr(qkv, name) for name in NAMES if inspect.isfunction(getattr(qkv, name))}
    for name in NAMES:
        if is_model(getattr(qkv, name)):
            for member, each in members_of(getattr(qkv, name)).items():
                if not isinstance(each, property):
                    found[f"{name}.{member}"] = getattr(getattr(qkv, name), member)
    return found


@pytest.mark.parametrize("name", functions())
def test_arguments_and_results_are_described(name: str) -> None:
    doc, signature = DOCS[name], inspect.signature(functions()[name])
    arguments = re.split(r"^(?:Returns|Yields|Raises|Example):$", doc, flags=re.MULTILINE)[0]
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in ("self", "cls"):
            assert re.search(rf"^    {parameter.name}: ", arguments, re.MULTILINE), (
                f"{name}({parameter.name})"
            )
    if signature.return_annotation not in (None, "None"):
        assert "Returns:" in doc, name


def test_a_wrong_example_would_be_found() -> None:
    """The runner compares what is printed: `trace` is any function with another docstring."""
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, trace.__name__, None, None)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1
