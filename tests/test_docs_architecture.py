"""Every file and folder that ARCHITECTURE.md names exists."""

import re
from pathlib import Path

import pytest

from qkv.families import FAMILIES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCES = re.compile(r"(?<![\w/.-])[\w./-]*\w\.(?:py|h|cpp|md)\b|(?<![\w/.-])(?:[\w-]+/)+(?![\w*])")
WRITTEN = {"README.md"}  # also a file of every bundle
GONE = {"pipeline/"}
TRANSLATOR = "qkv/families/translator"
PLACES = ("", "qkv", "docs", "tests", TRANSLATOR, f"{TRANSLATOR}/guarantees", f"{TRANSLATOR}/distillation")


def tree_paths() -> list[str]:
    """Paths of the tree in "What is where", from its indentation."""
    tree = PAGE.split("## What is where")[1].split("```")[1]
    paths: list[str] = []
    parents: dict[int, str] = {}
    for line in tree.strip("\n").splitlines():
        indent = len(line) - len(line.lstrip())
        first = line.split()[0]
        parent = "".join(folder for depth, folder in sorted(parents.items()) if depth < indent)
        if first.endswith("/"):
            parents = {depth: folder for depth, folder in parents.items() if depth < indent} | {indent: first}
        paths += [
            parent + name
            for name in re.findall(r"[\w/]+\.py\b|^\s*[\w/]+/(?=\s|$)", line)
            if name.strip() != first
        ]
        paths.append(parent + first)
    return sorted({path for path in paths if path.endswith((".py", "/"))})


def named_in_prose() -> list[str]:
    prose = PAGE.split("## What is where")[0] + PAGE.split("```")[-1]
    return sorted(set(SOURCES.findall(prose)) - WRITTEN - GONE)


def exists(name: str) -> bool:
    places = [
        *PLACES,
        *(f"qkv/families/{family}" for family in FAMILIES),
        "qkv/engine",
        "qkv/families/translator/files",
    ]
    return any((ROOT / place / name).exists() for place in places)


@pytest.mark.parametrize("path", tree_paths())
def test_every_path_of_the_tree_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", named_in_prose())
def test_every_path_in_the_prose_exists(name: str) -> None:
    assert exists(name)


def test_the_tree_shows_every_folder_of_the_package() -> None:
    folders = {f"qkv/{path.parent.name}/" for path in (ROOT / "qkv").glob("*/__init__.py")}
    assert folders <= set(tree_paths())


def test_a_path_that_does_not_exist_would_be_found() -> None:
    assert len(tree_paths()) > 40
    assert len(named_in_prose()) > 20
    assert not exists("qkv/pipeline/search.py")
