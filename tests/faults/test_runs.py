"""One call that a disk refuses, anywhere in a run, or an impatient person, changes nothing of what the run learns."""

import json
import os
import random
import signal
from pathlib import Path

import pytest
from digit_runs import Recorder, hashes, send, tiny_settings, train
from disk import Disk

from qkv.checkpoint.files import file_hash
from qkv.errors import UserError
from qkv.families.loading import load

SETTINGS = tiny_settings()
LEARNED = ("step-20/model.safetensors", "step-20/optimiser.safetensors", "log.jsonl")


def learned(out: Path) -> dict[str, str]:
    found = hashes(out, 20)
    return {name: found[f"training/{name}"] for name in LEARNED}


def clock(out: Path) -> list[int]:
    lines = (out / "training" / "timing.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], list[int], int]:
    """What it learned, the steps of its clock, and how many calls it made."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Disk(folder).watching() as disk:
        train(folder / "out", SETTINGS)
    return learned(folder / "out"), clock(folder / "out"), len(disk.operations)


@pytest.mark.parametrize("share", [0.05, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", ["no space", "input/output error", "short write"])
def test_a_call_that_fails_costs_what_it_would_have_written(
    fault: str, share: float, undisturbed: tuple[dict[str, str], list[int], int], tmp_path: Path
) -> None:
    expected, steps, count = undisturbed
    places = random.Random(1).sample(range(count), round(share * count))
    assert len(places) >= 8
    warned = 0
    for at in places:
        out = tmp_path / str(at) / "out"
        out.parent.mkdir()
        disk, recorder = Disk(out.parent, fault=fault, at=at), Recorder()
        try:
            with disk.watching():
                train(out, SETTINGS, recorder=recorder)
        except OSError:  # before the first step, or of the finished model: the person is told, and goes on
            assert fault != "short write", at
            assert recorder.steps in ([], list(range(1, 21))), at
            train(out, SETTINGS, resume=(out / "training" / "run.json").exists())
        warned += bool(recorder.warnings)
        assert not recorder.warnings or "Training continues" in recorder.warnings[0], at
        if not (
            out / "training" / "step-20"
        ).exists():  # the last state was refused; those before it were not
            train(out, SETTINGS, resume=True)
        assert learned(out) == expected, at
        assert clock(out) == steps, at
        assert not list(out.rglob(".tmp-*")), at
        assert load(out).translate("one two") is not None, at
    assert warned == 0 if fault == "short write" else warned >= len(places) // 3


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_person_who_does_not_wait_for_the_end_of_a_step_loses_the_steps_since_the_last_state(
    first: signal.Signals, tmp_path: Path
) -> None:
    train(tmp_path / "whole", SETTINGS)

    def twice() -> None:
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "out", SETTINGS, recorder=Recorder(at=11, action=twice))
    _, rest = train(tmp_path / "out", SETTINGS, resume=True)
    assert rest.steps[0] == 8
    assert hashes(tmp_path / "out", 20) == hashes(tmp_path / "whole", 20)


def stopped_before_its_end(out: Path) -> None:
    train(out, SETTINGS, recorder=Recorder(at=18, action=send(signal.SIGINT)))


def test_a_damaged_best_model_and_snapshot_are_replaced_by_what_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stopped_before_its_end(out)
    for victim in (out / "model.safetensors", out / "training" / "snapshots" / "step-7.safetensors"):
        victim.write_bytes(victim.read_bytes()[:-1])
    with Disk(tmp_path).watching() as disk:
        outcome, recorder = train(out, SETTINGS, resume=True)
    assert disk.operations
    assert outcome.report is not None
    assert load(out).translate("one two") is not None
    weights = outcome.report["training"]["weights"]
    assert weights in ("snapshot at step 20", "average of the snapshots at steps 14, 20")
    assert recorder.warnings == []  # a later best model has replaced the damaged one


@pytest.mark.parametrize("victim", ["model.safetensors", "config.json"])
def test_a_best_model_that_was_refused_is_not_mistaken_for_an_older_one(victim: str, tmp_path: Path) -> None:
    """Whether its weights were refused or, after them, its description."""
    settings = tiny_settings(validate_every=20, precision="float32")
    with Disk(tmp_path).watching() as disk:
        train(tmp_path / "whole", settings)
    at = next(n for n, each in enumerate(disk.operations) if each.path == f"whole/.tmp-{victim}")
    out = tmp_path / "refused" / "whole"
    out.parent.mkdir()
    recorder = Recorder()
    with Disk(out.parent, fault="no space", at=at).watching():
        outcome, _ = train(out, settings, recorder=recorder)
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "average of the snapshots at steps 20"
    assert any("the model could not be written" in warning for warning in recorder.warnings)
    assert file_hash(out / "model.safetensors") == file_hash(tmp_path / "whole" / "model.safetensors")
    assert load(out).translate("one two") is not None


def test_damaged_snapshots_are_left_out_of_the_average_and_with_no_model_left_the_command_says_so(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    train(out, SETTINGS)
    snapshots = out / "training" / "snapshots"
    (snapshots / "step-14.safetensors").write_bytes(b"")
    (out / "model.safetensors").write_bytes(b"")
    outcome, recorder = train(out, SETTINGS, resume=True)
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "average of the snapshots at steps 20"
    assert any("left out of the average" in warning for warning in recorder.warnings)
    assert any("replaces it" in warning for warning in recorder.warnings)
    for path in (out / "model.safetensors", snapshots / "step-20.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(UserError, match="nor a snapshot can be read"):
        train(out, SETTINGS, resume=True)


def test_a_stop_that_cannot_be_saved_is_not_called_saved(tmp_path: Path) -> None:
    full = Disk(tmp_path, fault="no space", at=0, lasts=True)
    full.at = -1

    def fill_and_stop() -> None:
        full.at = len(full.operations)
        send(signal.SIGTERM)()

    with full.watching():
        outcome, _ = train(tmp_path / "out", SETTINGS, recorder=Recorder(at=10, action=fill_and_stop))
    assert (outcome.saved, outcome.exit_code) == (False, 143)
    assert [path.name for path in (tmp_path / "out" / "training").glob("step-*")] == ["step-7"]
