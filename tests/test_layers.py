"""A module imports only what is upstream of it. `MAY_IMPORT` is the plan of the package."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import qkv
from qkv.families import FAMILIES

PACKAGE = Path(qkv.__file__).parent
ALWAYS = {"errors", "environment", "configs", "flags", "signatures"}

# What each role may import; its own role is always allowed. Every import counts, also one inside a function or under
# TYPE_CHECKING. "family.model" is families/<any>/model.py and what belongs to it, and so on.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "environment": {"errors"},
    "configs": {"errors"},
    "flags": {"errors"},
    "html": set(),
    "listening": {"flags"},
    "signatures": {"errors", "flags"},
    "core.config": set(),
    "course": set(),
    "core": {"core.config"},
    "text": {"errors"},
    "data": {"errors"},
    "documents": {"errors", "text"},
    "prepared": {"errors", "text", "data", "checkpoint"},
    "corpus": {"errors", "environment", "data"},
    "localization": {"__init__", "errors", "flags", "text", "data", "documents", "corpus", "checkpoint"},
    "decoding": {"decoding.options"},
    "decoding.options": set(),
    "checkpoint": {"errors", "flags"},
    "evaluation": ALWAYS | {"html", "checkpoint"},
    "family.config": {"errors", "configs", "core.config"},
    "family.model": {"core", "core.config", "family.config"},
    "engine": {"errors", "checkpoint", "core", "core.config", "decoding", "family.config"},
    "families": ALWAYS
    | {"families.family", "data", "checkpoint", "evaluation", "runtime", "tracing"},
    "family.record": {"families.family"},
    "families.family": set(),
    "runtime": ALWAYS | {"checkpoint", "data", "engine", "progress"},
    "tracing": ALWAYS | {"html", "core", "decoding"},
    "training": ALWAYS | {"__init__", "core", "core.config", "data", "engine", "checkpoint", "prepared"},
    "family.settings": ALWAYS | {"training", "data", "family.options"},
    "family.inputs": ALWAYS | {"training", "data", "checkpoint", "prepared", "family.product", "family.settings", "family.task", "families"},
    "family.options": ALWAYS | {"text", "documents", "decoding.options"},
    "family.product": ALWAYS
    | {
        "core.config", "family.config", "text", "data", "documents", "localization", "decoding", "engine", "checkpoint", "runtime", "progress", "family.model", "family.options",
    },
    "family.task": ALWAYS
    | {
        "core", "core.config", "family.config", "text", "data", "checkpoint", "prepared", "evaluation", "runtime", "training", "families", "family.model",
        "family.options", "family.settings", "family.product",
    },
    "family.evaluation": ALWAYS
    | {
        "__init__", "html", "data", "checkpoint", "evaluation", "runtime", "pictures", "progress", "families",
        "family.options", "family.settings", "family.product", "family.task",
    },
    "family.distillation": ALWAYS
    | {
        "text", "data", "corpus", "localization", "checkpoint", "evaluation", "runtime", "training", "families",
        "family.inputs", "family.options", "family.product", "family.settings",
    },
    "api": ALWAYS
    | {
        "html", "text", "data", "corpus", "checkpoint", "prepared", "engine", "evaluation", "runtime", "hub", "published", "explorer", "progress", "listening", "server",
        "localization", "training", "families", "families.family", "family.distillation", "family.evaluation", "family.product",
        "family.settings",
    },
    "published": ALWAYS | {"checkpoint", "data", "engine", "hub"},
    "hub": ALWAYS | {"core", "core.config", "checkpoint", "families", "families.family"},
    "family.hub": ALWAYS
    | {
        "core", "core.config", "family.config", "text", "decoding", "checkpoint", "hub", "family.model", "family.options", "family.product",
    },
    "family.trace": ALWAYS
    | {"text", "core", "core.config", "data", "decoding", "tracing", "family.model", "family.options", "family.product"},
    "family.recompute": {"tracing"},
    "server": ALWAYS
    | {
        "__init__", "text", "data", "corpus", "documents", "checkpoint", "runtime", "families", "family.options", "family.product",
    },
    "progress": ALWAYS | {"training", "evaluation"},
    "pictures": {"errors", "family.product"},
    "explorer": ALWAYS
    | {
        "data", "evaluation", "checkpoint", "runtime", "pictures", "tracing", "families", "families.family", "family.product",
        "family.trace", "listening",
    },
    "cli": ALWAYS
    | {
        "__init__", "data", "evaluation", "checkpoint", "pictures", "explorer", "training", "runtime",
        "api", "progress", "families", "families.family", "listening", "localization", "published", "server",
    },
    "family.commands": ALWAYS
    | {
        "text", "data", "documents", "evaluation", "checkpoint", "pictures", "training", "runtime", "progress", "api", "cli", "families",
        "family.distillation", "family.evaluation", "family.inputs", "family.options", "family.product", "family.settings", "family.task",
    },
    "__init__": {
        "errors", "environment", "evaluation", "families", "tracing", "family.product", "family.evaluation", "family.options", "api", "training",
        "checkpoint", "text", "runtime", "server", "localization",
    },
    "__main__": {"cli"},
}  # fmt: skip

# Files of a family beyond the eight that every family has, and the role they belong to.
ROLES = {
    "model": "model", "codebook": "model", "recurrent": "model", "architectures": "model",
    "config": "config",
    "settings": "settings", "recipes": "settings",
    "options": "options", "evaluation_options": "options", "inputs": "inputs",
    "evaluation": "evaluation", "systems": "evaluation", "test_set": "evaluation", "translation_report": "evaluation",
    "score_tables": "evaluation", "score_html": "evaluation",
    "text_data": "task", "music_data": "task", "task": "task", "fine_tuning": "task", "labels_task": "task", "codebook_task": "task", "corpus": "task", "teachers": "task",
    "report": "task", "trust": "task", "advice": "task", "masking": "task", "stream": "task", "scene_scores": "task",
    "product": "product", "translating": "product", "runner": "product", "search": "product", "translations": "product", "alignment": "product", "aligner": "product", "general_search": "product", "defaults": "product",
    "shortlist": "product", "lexical": "product", "vocabulary_tables": "product",
    "hub": "hub", "hub_tokenizer": "hub", "hub_vocabularies": "hub", "hub_defaults": "hub", "hub_weights": "hub", "ctranslate2": "hub", "ctranslate2_import": "hub", "ctranslate2_tokenizer": "hub", "marian_import": "hub", "marian_shortlist": "hub",
    "guarantees": "product", "files": "product", "pipeline": "product", "recall": "product", "lines": "product", "sheet": "product", "segments": "product", "text_search": "product", "classifier": "product", "encoding": "product", "codes": "product",
    "trace": "trace", "word_attention": "trace", "recompute": "recompute", "recompute_recurrent": "recompute",
    "forced": "product", "distillation": "distillation", "adaptation": "distillation",
    "commands": "commands",
    "__init__": "record",
}  # fmt: skip

MAY_IMPORT_TORCH = {
    "core",
    "family.model",
    "family.task",
    "family.trace",
    "family.hub",
    "hub",
    "tracing",
    "training",
}
# Files of other roles that import torch. Those in the second line do so inside a function or for type checkers.
TORCH_EXCEPTIONS = {
    "checkpoint/state.py", "checkpoint/tensors.py", "engine/int16.py", "engine/training.py", "evaluation/alignment.py", "evaluation/calibration.py", "runtime/torch_models.py",
    "api/starting.py", "data/batching.py", "decoding/arrays.py",
}  # fmt: skip
MODULES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def role_of(module: str) -> str:
    first, *rest = module.removesuffix(".py").split("/")
    if first == "families" and rest and rest[0] in FAMILIES:
        name = rest[1] if len(rest) > 1 else "__init__"
        assert name in ROLES, f"{module}: give this file a role in ROLES"
        return f"family.{ROLES[name]}"
    if module == "families/family.py":
        return "families.family"
    if module in ("core/limits.py", "core/stack_config.py", "core/translation.py"):
        return "core.config"
    if module == "decoding/sampling_options.py":
        return "decoding.options"
    return first


def imported(module: str) -> set[str]:
    """Dotted names of everything that a module imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import, which this test cannot place"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def module_of(name: str) -> str:
    """The file that a dotted name is in: a module, or an attribute of one."""
    parts = name.split(".")[1:]
    while parts:
        for path in ("/".join(parts) + ".py", "/".join(parts) + "/__init__.py"):
            if (PACKAGE / path).exists():
                return path
        parts.pop()
    return "__init__.py"


def modules_imported(module: str) -> set[str]:
    """Without stubs, which only type checkers read."""
    names = [name for name in imported(module) if name.split(".")[0] == "qkv"]
    return {module_of(name) for name in names if not name.startswith("qkv.keywords.")}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_is_upstream(module: str) -> None:
    role = role_of(module)
    assert role in MAY_IMPORT, f"{role} is new: give it a place in MAY_IMPORT"
    others = {each: role_of(each) for each in modules_imported(module)}
    assert {each for each, other in others.items() if other not in MAY_IMPORT[role] | {role}} == set()


def test_no_two_roles_import_each_other() -> None:
    """`families` lists records that name modules by strings, so only real imports count."""
    TopologicalSorter({role: roles_imported(role) - {role, "__init__"} for role in MAY_IMPORT}).prepare()


def roles_imported(role: str) -> set[str]:
    modules = [module for module in MODULES if role_of(module) == role]
    return {role_of(each) for module in modules for each in modules_imported(module)}


@pytest.mark.parametrize("role", MAY_IMPORT)
def test_every_permission_is_used(role: str) -> None:
    """`ALWAYS` counts as one permission."""
    assert MAY_IMPORT[role] - ALWAYS - roles_imported(role) == set()


def test_every_role_of_the_plan_exists() -> None:
    assert set(map(role_of, MODULES)) == set(MAY_IMPORT)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_same_files(family: str) -> None:
    names = {
        module.split("/")[2].removesuffix(".py") for module in MODULES if f"families/{family}/" in module
    }
    every = {"config", "model", "settings", "options", "task", "product", "hub", "trace", "commands"}
    # Nothing published can be read as our DALL-E. The options of classifiers are in runtime.
    assert every - names == {"dalle": {"hub", "trace"}, "vit": {"options"}}.get(family, set())


@pytest.mark.parametrize("family", FAMILIES)
def test_families_never_import_each_other(family: str) -> None:
    for module in MODULES:
        if module.startswith(f"families/{family}/"):
            others = [each for each in modules_imported(module) if each.startswith("families/")]
            assert [each for each in others if each.split("/")[1] in set(FAMILIES) - {family}] == [], module


def imports_torch(module: str) -> bool:
    return any(name.split(".")[0] == "torch" for name in imported(module))


def test_only_models_tasks_training_and_traces_import_torch() -> None:
    others = {module for module in MODULES if role_of(module) not in MAY_IMPORT_TORCH}
    assert {module for module in others if imports_torch(module)} == TORCH_EXCEPTIONS


COMMANDS = """
from qkv.cli import all_commands, main, trainings
from qkv.cli.fields import option_fields
import sys
for words in [*([name] for name in all_commands()), *(["train", name] for name in trainings())]:
    for option in ("--help", "--help-all"):
        try:
            main([*words, option])
        except SystemExit as end:
            assert not end.code, words
assert "torch" not in sys.modules
"""


def test_no_help_imports_torch() -> None:
    """In a process of its own, where nothing is imported yet."""
    ran = subprocess.run([sys.executable, "-c", COMMANDS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_core_and_the_models_need_nothing_but_torch() -> None:
    outside = {
        name.split(".")[0]
        for module in MODULES
        if role_of(module) in ("core", "family.model")
        for name in imported(module)
    }
    assert outside <= {
        "qkv", "torch", "collections", "contextlib", "dataclasses", "functools", "math", "typing"
    }  # fmt: skip
