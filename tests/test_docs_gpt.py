"""The commands in docs/gpt.md work. They are run as written, with tiny models and files."""

import json
import re
import shlex
from pathlib import Path

import pytest
from commands import code_of
from language_models import counting_text

import qkv
from qkv.data.chorales import write_midi

PAGE = (Path(__file__).parents[1] / "docs" / "gpt.md").read_text(encoding="utf-8")
MODEL = "--width 16 --heads 2 --ffn-width 32 --batch-tokens 256 --processes 1"
TINY = {
    "train gpt": f"{MODEL} --depth 1 --max-length 16 --steps 4",
    "train gpt --fine-tune": "--epochs 1 --processes 1",
    "train translator": f"{MODEL} --steps 4 --vocab-size 290 --beam-size 1",
}


def lines() -> list[list[str]]:
    """All commands of the page, in order."""
    return [shlex.split(line)[1:] for line in re.findall(r"^qkv .*$", PAGE, flags=re.MULTILINE)]


def with_tiny_settings(command: list[str]) -> list[str]:
    if command[0] != "train":
        return command
    kind = "train gpt --fine-tune" if "--fine-tune" in command else " ".join(command[:2])
    return [*command, *TINY[kind].split()]


def write_files() -> None:
    """Write every file that the page names."""
    for name in ("book.txt", "other.txt", "input.txt", "mine.txt"):
        Path(name).write_text(counting_text(60), encoding="utf-8")
    for name in ("train.en", "train.de"):
        Path(name).write_text("".join(f"{n} cats\n" for n in range(60)), encoding="utf-8")
    rows = "".join(f"{word} film\t{label}\n" for word, label in (("good", "1"), ("bad", "0"))) * 8
    for name in ("reviews.tsv", "more.tsv"):
        Path(name).write_text(rows, encoding="utf-8")
    frames = [[60 + n % 5, 55, 52, 48] for n in range(12)]
    for name in ("chorales.json", "carols.json"):
        Path(name).write_text(json.dumps({"train": [frames] * 4, "valid": [frames] * 2, "test": [frames]}))
    write_midi(Path("beginning.mid"), [(60, 55, 52, 48)])


def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    commands = lines()
    assert [command[0] for command in commands].count("train") == 7
    for command in commands:
        assert code_of(*with_tiny_settings(command)) == 0, (command, capsys.readouterr().err)
    assert Path("longer.mid").is_file()


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from language_models import untrained

    monkeypatch.chdir(tmp_path)
    untrained("subwords").save(Path("runs/python"))
    [program] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(program, names)
    assert isinstance(names["model"], qkv.families.gpt.product.LanguageModel)
