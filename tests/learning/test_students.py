"""Through the real commands, a student with a recurrent decoder learns from a teacher, and drafts for it."""

import json
from pathlib import Path

import pytest
from commands import code_of
from digits import digit_lines

from qkv import load
from qkv.engine import Engine
from qkv.engine import engine as engines

pytestmark = pytest.mark.slow
TEXT = """--steps 300 --beam-size 1 --width 64 --encoder-depth 1 --decoder-depth 1 --heads 4 --ffn-width 128 --dropout 0
    --batch-tokens 768 --learning-rate 0.005 --warmup-steps 50 --validate-every 150 --processes 1"""
OPTIONS = TEXT.split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher, and a student of its probabilities."""
    folder = tmp_path_factory.mktemp("students")
    lines = digit_lines(3_000, seed=1, shortest=2)
    for name in ("train.en", "train.xx"):
        (folder / name).write_text("\n".join(lines) + "\n")
    files = ["--source", f"{folder}/train.en", "--target", f"{folder}/train.xx"]
    assert code_of("train", "translator", *files, *OPTIONS, "--out", f"{folder}/teacher") == 0
    student = [
        "--decoder-cell",
        "ssru",
        "--teacher-models",
        f"{folder}/teacher",
        "--distillation-weight",
        "0.7",
    ]
    assert code_of("train", "translator", *files, *OPTIONS, *student, "--out", f"{folder}/student") == 0
    return folder


def test_a_recurrent_student_learns_from_its_teacher(folder: Path) -> None:
    report = json.loads((folder / "student" / "report.json").read_text(encoding="utf-8"))
    assert report["validation"]["exact_match"] >= 90
    assert report["settings"]["distillation"]["teacher_models"] == [f"{folder}/teacher"]


def test_its_drafts_change_no_translation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, lines = load(folder / "teacher"), digit_lines(30, seed=9, shortest=2)
    if not isinstance(teacher._runner, Engine):
        pytest.skip("there is no compiler for the engine")
    wanted = [teacher.translate(line, beam_size=1) for line in lines]
    monkeypatch.setattr(engines, "drafting_pays", lambda engine, drafter: True)  # too small otherwise
    drafted = [teacher.translate(line, beam_size=1, draft=str(folder / "student")) for line in lines]
    assert drafted == wanted
