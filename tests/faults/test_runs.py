"""One call that a disk refuses, anywhere in a run, or an impatient person, changes nothing of what the run learns."""

import os
import random
import signal
from pathlib import Path

import pytest
from digit_runs import Recorder, hashes, tiny_settings, train
from disk import Disk

SETTINGS = tiny_settings()
LEARNED = ("step-20/model.safetensors", "step-20/optimiser.safetensors", "log.jsonl")


def learned(out: Path) -> dict[str, str]:
    found = hashes(out, 20)
    return {name: found[f"training/{name}"] for name in LEARNED}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], int]:
    """What it learned, and how many calls it made."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Disk(folder).watching() as disk:
        train(folder / "out", SETTINGS)
    return learned(folder / "out"), len(disk.operations)


@pytest.mark.parametrize("share", [0.05, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", ["no space", "input/output error", "short write"])
def test_a_call_that_fails_costs_what_it_would_have_written(
    fault: str, share: float, undisturbed: tuple[dict[str, str], int], tmp_path: Path
) -> None:
    expected, count = undisturbed
    places = random.Random(1).sample(range(count), round(share * count))
    assert len(places) >= 8
    warned = 0
    for at in places:
        out = tmp_path / str(at) / "out"
        out.parent.mkdir()
        disk = Disk(out.parent, fault=fault, at=at)
        try:
            with disk.watching():
                _, recorder = train(out, SETTINGS)
            warned += any("training goes on" in warning for warning in recorder.warnings)
        except OSError:  # before the first step, or of the finished model: the person is told, and goes on
            train(out, SETTINGS, resume=(out / "training" / "run.json").exists())
        if not (
            out / "training" / "step-20"
        ).exists():  # the last state was refused; those before it were not
            train(out, SETTINGS, resume=True)
        assert learned(out) == expected, at
    assert fault == "short write" or warned >= len(places) // 3


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
