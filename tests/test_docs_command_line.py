"""The files and commands of docs/command-line.md work as the page says, and its tables are complete."""

import re
import shlex
from pathlib import Path

import pytest
from commands import code_of
from training_commands import number_pairs

from qkv.cli import all_commands
from qkv.cli.conventions import RESERVED
from qkv.cli.option_tables import tables_of

PAGE = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
FILES = {text.split()[1]: text for text in re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)}
COMMANDS = re.findall(r"^(?:QKV_\S+ )?qkv .*$", PAGE, flags=re.MULTILINE)
SHORT = ["--ffn-width", "32", "--encoder-depth", "1", "--decoder-depth", "1", "--beam-size", "1", "--batch-tokens", "256"]  # fmt: skip


PRINTED = {
    "runs/longer": "steps = 30",
    "runs/other-seed": "seed = 2",
    "runs/variable": "steps = 25",
}  # instead of training


def test_the_files_and_commands_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    number_pairs(Path("digits.tsv"))
    for name, text in FILES.items():
        Path(name).write_text(text)
    assert len(COMMANDS) == 7
    for line in COMMANDS:
        variables, _, command = line.rpartition("qkv ")
        words = shlex.split(command)
        with monkeypatch.context() as context:
            for variable in shlex.split(variables):
                context.setenv(*variable.split("="))
            printed = [text for out, text in PRINTED.items() if out in words]
            more = ["--print-config"] if printed else SHORT if "digits.toml" in words else []
            capsys.readouterr()
            assert code_of(*words, *more) == 0, line
            assert all(f"\n{text} " in capsys.readouterr().out for text in printed), line
    weights = [Path("runs", name, "model.safetensors").read_bytes() for name in ("digits", "again")]
    assert weights[0] == weights[1]
    capsys.readouterr()
    assert code_of("train", "translator", "--config", "small.toml", "--output", "x", "--print-config") == 0
    assert "\nwidth = 32\n" in capsys.readouterr().out


def test_the_table_of_json_names_every_command_that_prints_it() -> None:
    table = PAGE.split("## JSON")[1].split("## ")[0]
    named = {
        name
        for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    reporting = {
        name for name in all_commands() if any(field.name == "json" for field in tables_of([name])[0])
    }
    assert named == reporting | {"train"}


def test_every_reserved_variable_is_on_the_page() -> None:
    assert all(f"| `{name}` |" in PAGE for name in RESERVED)
