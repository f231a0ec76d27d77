"""The commands in README.md, docs/evaluate.md and docs/translate.md work.

They are run as written, on a small part of real data; the model is smaller and trained for fewer steps.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import code_of

ROOT = Path(__file__).parents[1]
MULTI30K = ROOT.parent / "shared" / "data" / "multi30k"
PARTS = {"train": ("train", 300), "test": ("test_2016_flickr", 20)}
SMALLER = " --steps 40 --width 64 --heads 4 --ffn-width 64 --batch-tokens 512 --processes 1"


def commands(section: str) -> list[str]:
    """The lines of the first code block of a section."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = readme.split(f"\n## {section}\n")[1].split("\n## ")[0]
    block = re.search(r"```\n(.*?)```", text, flags=re.DOTALL)
    assert block is not None
    return block.group(1).strip().splitlines()


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with .venv and a few real sentences, under the names that the README uses."""
    if not MULTI30K.is_dir():
        pytest.skip("the shared data (multi30k) is not on this machine")
    folder = tmp_path_factory.mktemp("newcomer")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "qkv").symlink_to(Path(sys.executable).parent / "qkv")
    for name, (part, count) in PARTS.items():
        for language in ("en", "de"):
            lines = (MULTI30K / f"{part}.{language}").read_text(encoding="utf-8").splitlines()[:count]
            (folder / f"{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "COLUMNS": "100", "PATH": path}
    result = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, f"{line}\n{result.stderr}"
    return result


def run_inside(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command in this process, in the current folder, and return its output. `> FILE` is understood."""
    words = shlex.split(line, comments=True)
    words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
    assert code_of(*words[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
    printed = capsys.readouterr().out
    if target is not None:
        Path(target).write_text(printed, encoding="utf-8")
    return printed


@pytest.fixture(scope="module")
def shown(newcomer: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """The output of each command from two files to translations."""
    lines = commands("Your own translator")
    assert [line.split()[1] for line in lines[:4]] == ["train", "evaluate", "translate", "info"]
    shorter = [line + SMALLER if " train " in line else line for line in lines]
    return {line.split()[1]: run(line, newcomer) for line in shorter}


def test_two_files_become_a_translator(
    newcomer: Path, shown: dict[str, subprocess.CompletedProcess[str]]
) -> None:
    assert "the model is in runs/en-de" in shown["train"].stderr
    assert re.search(r"BLEU +\d+\.\d+ +\d+\.\d+ – \d+\.\d+", shown["evaluate"].stdout)
    assert "20 sentences" in shown["evaluate"].stdout
    assert len(shown["translate"].stdout.splitlines()) == 1
    assert shown["translate"].stdout.strip()
    assert "train.en and train.de" in shown["info"].stdout
    for name in (
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "report.json",
        "README.md",
        "seen.safetensors",
    ):
        assert (newcomer / "runs" / "en-de" / name).is_file(), name


@pytest.mark.usefixtures("shown")  # trains the model
def test_the_commands_on_evaluation_run(
    newcomer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(newcomer)
    page = (ROOT / "docs" / "evaluate.md").read_text(encoding="utf-8")
    lines = re.findall(r"^qkv evaluate .*$", page, flags=re.MULTILINE)
    assert len(lines) == 10
    source, references = (
        (newcomer / f"test.{language}").read_text(encoding="utf-8").splitlines() for language in ("en", "de")
    )
    rows = zip(source, references, strict=True)
    (newcomer / "test.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in rows), encoding="utf-8")
    (newcomer / "second.de").write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    (newcomer / "theirs.de").write_text("".join(f"{line} !\n" for line in references), encoding="utf-8")
    for line in lines:
        assert "20 sentences" in run_inside(line, capsys) or "--json" in line
    scores = json.loads((newcomer / "scores.json").read_text(encoding="utf-8"))
    assert scores["sentences"] == 20
    assert len((newcomer / "ours.de").read_text(encoding="utf-8").splitlines()) == 20


@pytest.mark.usefixtures("shown")
def test_the_commands_on_translation_run(
    newcomer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(newcomer)
    (newcomer / "terms.tsv").write_text("man\tHerr\ncat\tMieze\n", encoding="utf-8")
    shutil.copy(newcomer / "test.en", newcomer / "letters.en")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "translate.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\.venv/bin/qkv translate .*--.*$", readme, flags=re.MULTILINE)
    lines += re.findall(r"^qkv translate .*$", page, flags=re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        printed = run_inside(line, capsys)
        if "--num-hypotheses 3" in line:
            rows = [row.split("\t") for row in printed.splitlines()]
            assert [len(row) for row in rows] == [5, 5, 5]
            assert all(0 <= float(row[3]) <= 1 for row in rows)
        elif "--input" not in line and "--glossary" in line:
            assert "Mieze" in printed
    source = (newcomer / "letters.en").read_text(encoding="utf-8").splitlines()
    translations = (newcomer / "letters.de").read_text(encoding="utf-8").splitlines()
    assert len(translations) == len(source) == 20
    pairs = zip(source, translations, strict=True)
    with_men = [translation for text, translation in pairs if re.search(r"\bman\b", text, re.I)]
    assert with_men
    assert all(re.search(r"\bHerr\b", translation) for translation in with_men)
    report = json.loads((newcomer / "runs" / "en-de" / "report.json").read_text(encoding="utf-8"))
    assert report["calibration"]["confidence"]["sentences"] > 0
    assert 0 <= report["calibration"]["confidence"]["calibration_error"] <= 1
