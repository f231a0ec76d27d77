"""A resumed run may get a later end, and nothing else about it may change."""

import itertools
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import code_of, content, training
from digit_runs import Recorder, hashes, logged, send, tiny_settings, train
from digits import digit_lines

from qkv.checkpoint.files import file_hash, read_json, read_sealed
from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.families.translator.task import TranslatorTask
from qkv.training.schedule import rate_at

SHORT = tiny_settings()  # 20 steps
LONG = replace(SHORT, steps=30)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has reached its end. Tests work on copies."""
    out = tmp_path_factory.mktemp("finished") / "out"
    train(out, SHORT)
    return out


@pytest.fixture
def every_clock_reading_adds_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("qkv.training.meters.time.monotonic", lambda: float(next(ticks)))


def extensions(out: Path) -> list[dict[str, Any]]:
    found = read_sealed(out / "training" / "run.json")["extensions"]
    return [{name: each[name] for name in ("from_step", "steps", "minutes")} for each in found]


def test_a_finished_run_continues_towards_a_later_end(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "out")
    outcome, recorder = train(tmp_path / "out", LONG, resume=True)
    assert recorder.steps == list(range(21, 31))
    assert recorder.warnings == []
    rates = {row["step"]: row["learning_rate"] for row in logged(tmp_path / "out") if "learning_rate" in row}
    assert rates[20] == rate_at(SHORT.training, 20, 19 / 20)
    assert rates[21] == rate_at(LONG.training, 21, 20 / 30)
    assert extensions(tmp_path / "out") == [{"from_step": 20, "steps": 30, "minutes": None}]
    assert outcome.report is not None
    assert outcome.report["training"]["steps"] == outcome.report["settings"]["steps"] == 30


def test_resuming_a_complete_run_scores_nothing_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path / "out")
    before = content(tmp_path / "out")
    monkeypatch.delattr(TranslatorTask, "finish")
    outcome, again = train(tmp_path / "out", SHORT, resume=True)
    assert (again.steps, again.warnings) == ([], ["this run is already complete."])
    assert outcome.report == read_json(tmp_path / "out" / "report.json")
    weights = read_tensors(tmp_path / "out" / "model.safetensors")
    assert all(torch.equal(each, weights[name]) for name, each in outcome.product.model.state_dict().items())
    assert content(tmp_path / "out") == before


@pytest.mark.parametrize("stopped_at", [13, 24])
def test_an_extended_run_resumes_bit_for_bit(stopped_at: int, finished: Path, tmp_path: Path) -> None:
    """Whether it was stopped before or after its first end."""
    if stopped_at < 20:
        train(tmp_path / "whole", SHORT, recorder=Recorder(at=12, action=send(signal.SIGINT)))
    else:
        shutil.copytree(finished, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "out")
    train(tmp_path / "whole", LONG, resume=True)
    train(
        tmp_path / "out", LONG, resume=True, recorder=Recorder(at=stopped_at + 3, action=send(signal.SIGINT))
    )
    train(tmp_path / "out", LONG, resume=True)
    assert hashes(tmp_path / "out", 30) == hashes(tmp_path / "whole", 30)
    assert len(extensions(tmp_path / "out")) == 1


@pytest.mark.usefixtures("every_clock_reading_adds_a_second")
def test_a_run_that_minutes_ended_continues_with_more_minutes(tmp_path: Path) -> None:
    settings = replace(SHORT, steps=None, minutes=1.0)
    outcome, first = train(tmp_path / "out", settings)
    assert outcome.report is not None
    assert outcome.report["training"]["ended_by"] == "minutes"
    _, rest = train(tmp_path / "out", replace(settings, minutes=1.5), resume=True)
    assert rest.steps[0] == first.steps[-1] + 1
    assert extensions(tmp_path / "out")[0]["minutes"] == 1.5


def test_nothing_but_a_higher_limit_may_change(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "out")
    before = (tmp_path / "out" / "training" / "run.json").read_bytes()
    changes = [
        (replace(SHORT, steps=19), "steps"),
        (replace(SHORT, steps=None, minutes=1.0), "minutes, steps"),
        (replace(LONG, minutes=1.0), "minutes"),
        (replace(LONG, seed=2), "seed"),
    ]
    for settings, names in changes:
        with pytest.raises(QkvError, match=f"settings differ .*: {names}[.]"):
            train(tmp_path / "out", settings, resume=True)
    assert (tmp_path / "out" / "training" / "run.json").read_bytes() == before
    train(tmp_path / "out", LONG, resume=True)
    with pytest.raises(QkvError, match=r"settings differ .*: steps[.]"):
        train(tmp_path / "out", SHORT, resume=True)


@pytest.mark.parametrize("killed", [False, True])
def test_the_model_of_the_first_end_is_kept_if_the_extension_finds_no_better_one(
    killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the run was killed before the first checkpoint after its extension."""
    monkeypatch.setattr(
        "qkv.training.selection.loss_on", lambda *_: 0.0
    )  # no average is better than the first
    train(tmp_path / "out", SHORT)
    kept = file_hash(tmp_path / "out" / "model.safetensors")

    def kill() -> None:
        raise KeyboardInterrupt

    if killed:
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "out", LONG, resume=True, recorder=Recorder(at=21, action=kill))
    outcome, recorder = train(tmp_path / "out", LONG, resume=True)
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "average of the snapshots at steps 14, 20"
    assert file_hash(tmp_path / "out" / "model.safetensors") == kept
    assert recorder.warnings == []


@pytest.mark.usefixtures("every_clock_reading_adds_a_second")
def test_the_command_extends_a_run_and_its_advice_names_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.en", "a.xx"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in digit_lines(60, shortest=3)))
    assert code_of(*training(tmp_path, "--minutes", "1e-7", "--processes", "1")) == 0
    messages = " ".join(capsys.readouterr().err.split())
    resume = ["train", "translator", "--resume", "--output", str(tmp_path / "out")]
    assert "resume with more time: " in messages
    assert f" {' '.join(resume)} --minutes" in messages
    steps = read_json(tmp_path / "out" / "report.json")["training"]["steps"]
    assert code_of(*resume, "--minutes", "1e-8") == 2
    assert "these differ: --minutes" in capsys.readouterr().err
    assert code_of(*resume, "--minutes", "0.5") == 0
    assert read_json(tmp_path / "out" / "report.json")["training"]["steps"] > steps
    assert code_of(*resume) == 0
    assert "this run is already complete" in capsys.readouterr().err
