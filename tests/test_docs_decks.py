"""Everything that docs/decks.md names exists."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from qkv.cli import all_commands, trainings
from qkv.families import FAMILIES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "decks.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"`([^`]+)`", PAGE)
NAMED = sorted({quoted for quoted in QUOTED if re.fullmatch(r"(qkv|tests)/[\w/]+\.py(::\w+)?", quoted)})
COMMAND_LINES = sorted({quoted for quoted in QUOTED if quoted.startswith(("qkv ", ".venv/"))})
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line[:2] == "| "][
    1:
]


def top_level_names(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("named", NAMED)
def test_what_the_page_names_exists(named: str) -> None:
    path, _, name = named.partition("::")
    assert (ROOT / path).is_file()
    if name:
        assert name in top_level_names(ROOT / path)


def test_every_file_on_the_page_was_looked_for() -> None:
    mentioned = set(re.findall(r"(?:qkv|tests)/[\w/]+\.py(?:::\w+)?", PAGE))
    assert mentioned == {
        name for quoted in QUOTED for name in re.findall(r"(?:qkv|tests)/[\w/]+\.py\S*", quoted)
    }
    tested_folders = re.findall(r"-m pytest (\S+)`", PAGE)
    assert all((ROOT / folder).exists() for folder in tested_folders)
    assert len(NAMED) > 50


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_every_command_on_the_page_is_one_that_qkv_has(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "qkv":
        known = trainings() if words[1] == "train" else all_commands()
        assert words[2 if words[1] == "train" else 1] in known
    else:
        assert words[:3] == [".venv/bin/python", "-m", "pytest"]


def test_every_idea_has_code_a_test_and_a_command() -> None:
    assert len(ROWS) > 30
    for idea, _deck, where, test, command in ROWS:
        assert "`qkv/" in where, idea
        assert "::test_" in test, idea
        assert "`" in command, idea


def test_every_model_is_on_the_page() -> None:
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "qkv" / "families").glob("*/model.py")}
    assert len(files) == len(FAMILIES)
    files.add("qkv/families/translator/recurrent.py")
    assert files <= {name.split("::")[0] for name in NAMED}


def test_every_test_of_the_worked_numbers_belongs_to_a_deck_the_page_knows() -> None:
    names = top_level_names(ROOT / "tests" / "decks" / "test_worked_numbers.py")
    decks = {match[1] for name in names if (match := re.match(r"test_deck_(\d+)_", name))}
    assert all(name.startswith("test_deck_") for name in names if name.startswith("test_"))
    assert decks == {"001", "002", "003", "004"}
