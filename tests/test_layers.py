"""A module imports only what is upstream of it. This list is the map of the house."""

import ast
from pathlib import Path

import pytest

import qkv

PACKAGE = Path(qkv.__file__).parent

# What each room may import of the others; itself is always allowed. Every import counts, also one inside a
# function or under TYPE_CHECKING.
MAY_IMPORT = {
    "errors": set(),
    "environment": set(),
    "configs": {"errors"},
    "core": set(),
    "models": {"core"},
    "text": {"errors"},
    "data": {"errors"},
    "corpus": {"errors", "data"},
    "decoding": set(),
    "engine": {"errors", "core", "models", "decoding"},
    "checkpoint": {"errors"},
    "evaluation": {"errors", "environment", "checkpoint"},
    "pipeline": {"errors", "configs", "core", "models", "text", "data", "decoding", "engine", "checkpoint"},
    "hub": {"errors", "configs", "core", "models", "text", "decoding", "checkpoint", "pipeline"},
    "pictures": {"errors", "pipeline"},
    "explore": {"errors", "configs", "data", "evaluation", "checkpoint", "pipeline", "pictures"},
    "training": {
        "__init__", "errors", "environment", "configs", "core", "models", "text", "data", "engine", "evaluation",
        "checkpoint", "pipeline",
    },
    "cli": {
        "__init__", "errors", "environment", "configs", "data", "corpus", "evaluation", "checkpoint", "pipeline",
        "pictures", "explore", "hub", "training",
    },
    "__init__": {"errors", "pipeline"},
    "__main__": {"cli"},
}  # fmt: skip

WITHOUT_TORCH = ["errors.py", "configs.py", "training/settings.py", "training/recipes.py", "cli/__init__.py"]
MODULES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
COMPILED = "core/loops.py"  # imported when a training run asks for it


def room_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imported(module: str) -> set[str]:
    """Dotted names of all that a module imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import, which this test cannot place"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_imported(module: str) -> set[str]:
    rooms = set()
    for name in imported(module):
        if name.split(".")[0] == "qkv":
            room = name.split(".")[1]
            rooms.add(room if room in MAY_IMPORT else "__init__")  # `from qkv import __version__`
    return rooms


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_is_upstream(module: str) -> None:
    room = room_of(module)
    assert room in MAY_IMPORT, f"qkv/{room} is new: give it its place in MAY_IMPORT"
    assert rooms_imported(module) - {room} <= MAY_IMPORT[room]


def test_no_two_rooms_import_each_other_even_by_a_detour() -> None:
    seen: list[str] = []
    rooms = {room: allowed - {"__init__"} for room, allowed in MAY_IMPORT.items()}
    while rooms:
        ready = [room for room, allowed in rooms.items() if allowed <= set(seen)]
        assert ready, f"a circle among {sorted(rooms)}"
        seen += ready
        rooms = {room: allowed for room, allowed in rooms.items() if room not in ready}


def test_every_room_of_the_map_is_there() -> None:
    assert set(map(room_of, MODULES)) == set(MAY_IMPORT)


def test_models_never_import_each_other() -> None:
    names = [module for module in MODULES if room_of(module) == "models" and "__init__" not in module]
    for module in names:
        assert not [name for name in imported(module) if name.startswith("qkv.models")], module


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_what_the_help_needs_imports_no_torch(module: str) -> None:
    assert not [name for name in imported(module) if name.split(".")[0] == "torch"]


def test_the_core_and_the_models_need_nothing_but_torch() -> None:
    outside = {
        name.split(".")[0]
        for module in MODULES
        if room_of(module) in ("core", "models", "decoding") and module != COMPILED
        for name in imported(module)
    }
    assert outside <= {
        "qkv", "torch", "collections", "contextlib", "dataclasses", "functools", "math", "types", "typing"
    }  # fmt: skip


def test_numba_is_needed_by_the_compiled_loops_alone() -> None:
    assert [
        module for module in MODULES if any(name.split(".")[0] == "numba" for name in imported(module))
    ] == [COMPILED]
