"""Messages of the library name things as Python does. Only the command line knows flags."""

import ast
import re
from pathlib import Path

import pytest

import qkv
from qkv.cli import all_commands, trainings
from qkv.cli.option_tables import tables_of, union
from qkv.errors import MissingExtraError, OptionError
from qkv.families import FAMILIES

PACKAGE = Path(qkv.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")

# Texts with a flag that are no messages, by module.
ALLOWED = {
    # A record names the commands that accept a kind of bundle, and the options that select its evaluator. Only the
    # command line and `load_for` read them.
    **{
        f"families/{family}/__init__.py": (f"train {family} --fine-tune", "--text", "--music", "--images", "--scenes", "--labels")
        for family in FAMILIES
    },
    "api/jobs.py": (" --fine-tune",),
    "families/bert/labels_task.py": ("train bert --fine-tune",),
    "families/gpt/fine_tuning.py": ("train gpt --fine-tune",),
    "families/gpt/labels_task.py": ("train gpt --fine-tune",),
    "families/translator/fine_tuning.py": ("train translator --fine-tune",),
    "families/vit/fine_tuning.py": ("train vit --fine-tune",),
    # An option of the linker.
    "engine/compiling.py": ("-Wl,--version-script=",),
    # The alias of an option is stated with the option.
    "families/translator/options.py": ("--beam",),
    "families/translator/evaluation_options.py": ("--beam", "--out"),
    "api/cleaning.py": ("--out",),
    "training/command.py": ("--out",),
    "api/adapting.py": ("--out",),
    "api/distillation.py": ("--out",),
    # A model card shows a command to try.
    "families/gpt/task.py": ("qkv generate . -o music.mid --max-new-tokens 1024",),
    "families/translator/report.py": ("`qkv translate . --scores`",),
}  # fmt: skip


def is_of_the_command_line(module: str) -> bool:
    parts = module.split("/")
    return parts[0] == "cli" or (parts[0] == "families" and "commands" in parts)


MODULES = sorted(
    module
    for path in PACKAGE.rglob("*.py")
    if not is_of_the_command_line(module := path.relative_to(PACKAGE).as_posix())
)


def texts_in(source: str) -> list[str]:
    """All string literals, also the parts of f-strings, except docstrings."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


def flags_in(source: str, allowed: tuple[str, ...] = ()) -> list[str]:
    found = []
    for text in texts_in(source):
        for each in allowed:
            text = text.replace(each, "")
        found += FLAG.findall(text)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_no_message_outside_the_command_line_mentions_a_flag(module: str) -> None:
    source = (PACKAGE / module).read_text(encoding="utf-8")
    assert flags_in(source, ALLOWED.get(module, ())) == []


def test_a_flag_is_found_in_a_message_and_not_in_a_docstring() -> None:
    source = '"""See --help."""\nraise QkvError(f"{path} is too long. Give --max-length {most}.")'
    assert flags_in(source) == ["--max-length"]
    assert flags_in(source, ("--max-length",)) == []
    assert flags_in('"a -- b", "a--b", "-----"') == []


def test_every_exception_is_still_needed() -> None:
    for module, allowed in ALLOWED.items():
        texts = texts_in((PACKAGE / module).read_text(encoding="utf-8"))
        assert any(each in text for text in texts for each in allowed), module


# Names of options ------------------------------------------------------------------------------------


def test_a_name_in_braces_is_a_flag_on_the_command_line() -> None:
    error = OptionError(("width", "must be a multiple of {heads}"), ("top_k, top_p", "must not be '{1}'"))
    assert str(error) == "width must be a multiple of heads; top_k, top_p must not be '{1}'."
    assert error.with_flags() == "--width must be a multiple of --heads; --top-k, --top-p must not be '{1}'."
    missing = MissingExtraError("this", package="p", extra="e", otherwise="or give {min_length} 0")
    assert str(missing).endswith("or give min_length 0.")
    assert missing.with_flags().endswith("or give --min-length 0.")


def option_names() -> set[str]:
    """Those with an underscore: others are also words."""
    tables = [*([name] for name in all_commands()), *(["train", name] for name in trainings())]
    names = {field.path[-1] for words in tables for field in union(tables_of(words))}
    return {name for name in names if "_" in name}


# Messages about config.json, about the formats of other libraries and about requests to the server name keys.
KEYS = ("config.json: max_length", "has an ffn_width of 4", "has no calibrated confidence: min_confidence")


def test_messages_write_names_of_options_in_braces() -> None:
    found = []
    plain = re.compile(rf"(?<![{{\w])({'|'.join(sorted(option_names()))})(?![\w}}])")
    for module in MODULES:
        for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            kind = ast.unparse(node.exc.func)
            texts = texts_in(ast.unparse(node.exc)) if kind.endswith("Error") and hasattr(qkv, kind) else []
            names = [
                name for text in texts if not any(key in text for key in KEYS) for name in plain.findall(text)
            ]
            found += [f"{module}: {name}" for name in names]
    assert found == []
