"""The commands of docs/distill.md run, on small models and few sentences."""

import re
import shlex
from pathlib import Path

import pytest
from commands import code_of
from distillation_runs import STUDENT

import qkv

PAGE = (Path(__file__).parents[1] / "docs" / "distill.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("qkv ")
]
NAMES = {"teacher": "one", "teacher-2": "two", "reverse": "reverse"}


@pytest.fixture
def folder(distillation_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runs").mkdir()
    for name, model in NAMES.items():
        (tmp_path / "runs" / name).symlink_to(distillation_models / model)
    lines = (distillation_models / "pairs.tsv").read_text().splitlines()
    (tmp_path / "train.tsv").write_text("".join(f"{line}\n" for line in lines[:40]))
    (tmp_path / "captions.en").write_text("".join(f"{line.split(chr(9))[0]}\n" for line in lines[40:80]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_commands_of_the_page_run() -> None:
    assert [line.split()[1] for line in COMMANDS] == [
        "distill",
        "distill",
        "translate",
        "info",
        "distill",
        "distill",
    ]
    for line in COMMANDS:
        words = shlex.split(line)[1:]
        smaller = [each for each in STUDENT if each] if words[0] == "distill" else []
        assert code_of(words[0], *smaller, *words[1:]) == 0, line
    assert len(list(Path("runs/work").glob("translated-text-*.tsv"))) == 1  # translated once for two students


@pytest.mark.usefixtures("folder")
def test_the_snippet_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    tiny = 'output="runs/student-3", steps=2, width=8, heads=2, ffn_width=8, vocab_size=262, processes=1, progress=False'
    names = {
        "qkv": qkv,
        "teacher": qkv.load("runs/teacher"),
        "sentences": Path("captions.en").read_text().splitlines(),
        "pairs": [line.split("\t") for line in Path("train.tsv").read_text().splitlines()],
    }
    exec(block.replace('output="runs/student-3"', tiny), names)
    assert "'interval'" in capsys.readouterr().out
