"""A disk call that fails anywhere in a run, or an impatient user, does not change what the run learns."""

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from digit_runs import Recorder, hashes, send, tiny_settings, train
from disk import Disk, Operation

from qkv.checkpoint.files import file_hash
from qkv.errors import QkvError
from qkv.families.loading import load

SETTINGS = tiny_settings()
ONE_VALIDATION = tiny_settings(validate_every=20, precision="float32")
LEARNED = ("step-20/model.safetensors", "step-20/optimiser.safetensors", "log.jsonl")


def learned(out: Path) -> dict[str, str]:
    found = hashes(out, 20)
    return {name: found[f"training/{name}"] for name in LEARNED}


def clock(out: Path) -> list[int]:
    lines = (out / "training" / "timing.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder of a run without faults, and how many calls it made. Tests that change it work on copies."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Disk(folder).watching() as disk:
        train(folder / "out", SETTINGS)
    return folder / "out", len(disk.operations)


@pytest.mark.parametrize("share", [0.05, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", ["no space", "input/output error", "short write"])
def test_a_failed_call_costs_only_what_it_would_have_written(
    fault: str, share: float, undisturbed: tuple[Path, int], tmp_path: Path
) -> None:
    whole, count = undisturbed
    expected, steps = learned(whole), clock(whole)
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
        except OSError:  # before the first step, or of the finished model: the user sees it and resumes
            assert fault != "short write", at
            assert recorder.steps in ([], list(range(1, 21))), at
            train(out, SETTINGS, resume=(out / "training" / "run.json").exists())
        warned += bool(recorder.warnings)
        assert not recorder.warnings or "Training continues" in recorder.warnings[0], at
        if not (out / "training" / "step-20").exists():  # only the last checkpoint could not be written
            train(out, SETTINGS, resume=True)
        assert learned(out) == expected, at
        assert clock(out) == steps, at
        assert not list(out.rglob(".tmp-*")), at
        assert load(out).translate("one two") is not None, at
    assert warned == 0 if fault == "short write" else warned >= len(places) // 3


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_during_a_step_loses_the_steps_since_the_last_checkpoint(
    first: signal.Signals, undisturbed: tuple[Path, int], tmp_path: Path
) -> None:
    def twice() -> None:
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "out", SETTINGS, recorder=Recorder(at=11, action=twice))
    _, rest = train(tmp_path / "out", SETTINGS, resume=True)
    assert rest.steps[0] == 8
    assert hashes(tmp_path / "out", 20) == hashes(undisturbed[0], 20)


def stopped_before_its_end(out: Path) -> None:
    train(out, SETTINGS, recorder=Recorder(at=18, action=send(signal.SIGINT)))


def test_a_damaged_best_model_and_snapshot_are_replaced_by_intact_ones(tmp_path: Path) -> None:
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


@pytest.fixture(scope="module")
def one_validation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Operation]]:
    """The folder of a run that is validated at its end alone, and its calls."""
    folder = tmp_path_factory.mktemp("one-validation")
    with Disk(folder).watching() as disk:
        train(folder / "run", ONE_VALIDATION)
    return folder / "run", disk.operations


@pytest.mark.parametrize("victim", ["model.safetensors", "config.json"])
def test_a_best_model_that_cannot_be_written_is_not_mistaken_for_an_older_one(
    victim: str, one_validation: tuple[Path, list[Operation]], tmp_path: Path
) -> None:
    """Whether its weights cannot be written or, after them, its config."""
    whole, operations = one_validation
    at = next(n for n, each in enumerate(operations) if each.path == f"run/.tmp-{victim}")
    out, recorder = tmp_path / "run", Recorder()
    with Disk(tmp_path, fault="no space", at=at).watching():
        outcome, _ = train(out, ONE_VALIDATION, recorder=recorder)
    assert outcome.report is not None
    assert outcome.report["training"]["weights"] == "average of the snapshots at steps 20"
    assert any("the model could not be written" in warning for warning in recorder.warnings)
    assert file_hash(out / "model.safetensors") == file_hash(whole / "model.safetensors")
    assert load(out).translate("one two") is not None


def test_damaged_snapshots_are_left_out_of_the_average_and_without_any_model_there_is_an_error(
    undisturbed: tuple[Path, int], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed[0], out)
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
    with pytest.raises(QkvError, match="nor a snapshot can be read"):
        train(out, SETTINGS, resume=True)


def test_a_stop_that_cannot_be_saved_is_not_reported_as_saved(tmp_path: Path) -> None:
    full = Disk(tmp_path, fault="no space", at=0, lasts=True)
    full.at = -1

    def fill_and_stop() -> None:
        full.at = len(full.operations)
        send(signal.SIGTERM)()

    with full.watching():
        outcome, _ = train(tmp_path / "out", SETTINGS, recorder=Recorder(at=10, action=fill_and_stop))
    assert (outcome.saved, outcome.exit_code) == (False, 143)
    assert [path.name for path in (tmp_path / "out" / "training").glob("step-*")] == ["step-7"]
