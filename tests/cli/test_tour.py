"""`qkv tour`: every step is explained, can be run, skipped or quit, and leaves nothing running."""

import os
import pty
import sys
import threading
from pathlib import Path

import pytest
from commands import code_of, refused
from explorable import save_explorable

from qkv.cli import tour_steps
from qkv.families.translator.commands import demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tour") / "my model"
    save_explorable(path)
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_questions_all_steps_run_and_the_server_stops(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code_of("tour", "--model", folder, "--yes") == 0
    shown = capsys.readouterr().out
    assert f"Skipped: there is a model in {folder} already." in shown
    printed = shown.split("translate '")[1].split("\n")[1]  # below the command
    assert code_of("translate", folder, "the cat danced") == 0
    assert capsys.readouterr().out == f"{printed}\n"
    assert "\ndecoder cross-attention, layer 1, head 1\n" in shown
    assert '{"translatedText":' in shown
    assert "delete this folder" not in shown  # the model is the user's own
    assert not [each for each in threading.enumerate() if each.name == "qkv server"]

    def interrupt(address: str, data: bytes | None = None) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(tour_steps, "request", interrupt)
    assert code_of("tour", "--model", folder, "--yes") == 130
    assert not [each for each in threading.enumerate() if each.name == "qkv server"]


def test_what_is_missing_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_of("tour")
    shown = capsys.readouterr()
    assert "--yes" in refused(shown.err, shown.out, code)
    monkeypatch.setattr(tour_steps, "has_torch", lambda: False)
    assert code_of("tour", "--yes") == 0
    skipped = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Skipped: ")]
    assert skipped == [
        "Skipped: training needs torch, which the extra `train` installs.",
        f"Skipped: {tour_steps.NO_MODEL}",
        "Skipped: the explorer needs torch, which the extra `train` installs.",
        f"Skipped: {tour_steps.NO_MODEL}",
    ]
    assert not list(Path().iterdir())
    monkeypatch.setattr(tour_steps, "needs_server", lambda: "no server.")
    assert code_of("tour", "--model", folder, "--yes") == 0
    assert capsys.readouterr().out.count("\n$ ") == 1  # translate


def answer(
    answers: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """The exit code and the output of a tour in a terminal where a user types this."""
    master, slave = pty.openpty()
    os.write(master, answers.encode())
    with open(slave) as terminal, monkeypatch.context() as context:
        context.setattr(sys, "stdin", terminal)
        context.setattr(sys.stdout, "isatty", lambda: True)
        code = code_of("tour")
    os.close(master)
    return code, capsys.readouterr().out


def test_the_answers_run_skip_and_quit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training that the tour starts is replaced: it takes a minute."""
    trained: list[list[str]] = []

    def train(arguments: list[str]) -> None:
        trained.append(arguments)
        save_explorable(Path("runs/tour"))
        Path("runs/tour/report.json").write_text("{}")

    monkeypatch.setattr(demo, "main", train)
    for answers, steps in {"s\ns\n": 4, "maybe\n\ns\nq\n": 3, "q\n": 2, "\x04": 2, "\n\nq\n": 4}.items():
        code, shown = answer(answers, capsys, monkeypatch)
        assert code == 0, answers
        assert f"{steps} of 4: " in shown, answers
        assert f"{steps + 1} of 4: " not in shown, answers
        assert ("The model is in runs/tour. If you do not need it, delete this folder." in shown) == bool(
            trained
        )
        if answers == "s\ns\n":  # without a model nothing can be shown
            assert shown.count(f"Skipped: {tour_steps.NO_MODEL}") == 3
    assert trained == [["--output", "runs/tour", "--steps", "540"]]
