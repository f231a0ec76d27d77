"""The docs and messages name this version, and never tell the reader to install qkv from a package index."""

import re
from pathlib import Path

import pytest

import qkv

ROOT = Path(__file__).parents[1]
FROM_AN_INDEX = re.compile(r"pip install[^\n]*(?<![\w./-])'?qkv(?![-\w/.])|qkv\[\w+\]")
EXTRA = re.compile(r"extra\s+`(\w+)`")


def texts() -> dict[str, str]:
    """Everything that users read: pages, and sources with their messages."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("qkv/**/*.py")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def test_nothing_is_installed_from_an_index_under_our_name() -> None:
    assert [name for name, text in texts().items() if FROM_AN_INDEX.search(text)] == []


@pytest.mark.parametrize("command", ["pip install qkv", "pip install 'qkv[train]'", "install qkv[corpus]"])
def test_such_an_advice_would_be_found(command: str) -> None:
    assert FROM_AN_INDEX.search(command)


def test_every_extra_that_is_named_exists_and_is_documented() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = {extra for text in texts().values() for extra in EXTRA.findall(text)}
    assert {"train", "pictures"} <= named
    for extra in named:
        assert f"\n{extra} = [" in declared, extra
        assert f"| `{extra}` |" in table, extra


def test_the_version_is_the_same_everywhere() -> None:
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.*)"$'),
        ("CITATION.cff", r"^version: (.*)$"),
        ("CHANGELOG.md", r"^## (\d.*)$"),
    ):
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found is not None
        assert found.group(1) == qkv.__version__, name
