"""Every flag of every command in the README and the docs exists."""

import contextlib
import io
import re
from functools import cache
from pathlib import Path

import pytest
from commands import code_of

from qkv.cli import all_commands, trainings

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/course/en").glob("*.md")),
]
OLD = {"log.md"}  # keeps the flags of its time
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
COMMAND = re.compile(r"(?:^|[\s`(])(?:\.venv/bin/)?qkv ((?:train )?[a-z0-9]+)([^`\n|]*)", flags=re.MULTILINE)


def commands_of(page: Path) -> list[tuple[str, str]]:
    """Commands and their arguments, in blocks and in sentences."""
    found = COMMAND.findall(page.read_text(encoding="utf-8"))
    known = {*all_commands(), *(f"train {name}" for name in trainings())}
    return sorted({(name, arguments.split(" # ")[0]) for name, arguments in found if name in known})


@cache
def flags_of(*words: str) -> frozenset[str]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert code_of(*words, "--help-all") == 0
    return frozenset(FLAG.findall(printed.getvalue())) | {"--help", "--help-all"}


def help_words(name: str, given: set[str]) -> list[str]:
    """`train gpt --fine-tune` and `evaluate --images` have helps of their own."""
    which = [flag for flag in ("--fine-tune", "--images", "--scenes", "--text", "--music") if flag in given]
    return [*name.split(), *which[:1]] if name == "evaluate" or "--fine-tune" in which else name.split()


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in OLD], ids=lambda page: page.name)
def test_every_flag_on_the_page_exists(page: Path) -> None:
    unknown = {}
    for name, arguments in commands_of(page):
        given = set(FLAG.findall(re.sub(r"\"[^\"]*\"", "", arguments)))
        missing = given - flags_of(*help_words(name, given))
        if missing:
            unknown[f"qkv {name}{arguments}"] = missing
    assert unknown == {}


def test_commands_are_found_on_the_pages() -> None:
    assert len({name for page in PAGES for name, _ in commands_of(page)}) > 15
