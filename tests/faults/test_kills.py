"""A run that is killed again and again, at any instant, ends as one that never was: hash for hash."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from digit_runs import hashes
from training_commands import children_of, command, number_pairs
from zygote import STEPS

HERE = Path(__file__).parent
FEW, MANY, HELPED = 8, 200, 10
STARTING = 0.1  # seconds


class Zygote:
    """Starts runs, as long as it is entered."""

    def __enter__(self) -> Self:
        paths = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def start(self, out: Path, limit: int | None = None) -> int:
        """The number of the process that runs."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"out": str(out), "limit": limit}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.fixture(scope="module")
def undisturbed(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float]:
    """The hashes of a run that nobody kills, and how long it takes."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    zygote.start(out)
    assert zygote.answer() == 0
    again = out.with_name("again")
    began = time.monotonic()
    zygote.start(again)
    assert zygote.answer() == 0
    taken = time.monotonic() - began
    assert hashes(again, STEPS) == hashes(out, STEPS), "two runs are alike in the first place"
    return hashes(out, STEPS), taken


@pytest.mark.parametrize("kills", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_at_any_instant_ends_the_same(
    kills: int, zygote: Zygote, undisturbed: tuple[dict[str, str], float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    chance = random.Random(kills)
    runs, inside_a_save, while_starting = 0, 0, 0
    done, out = 0, tmp_path / "run-0"
    while done < kills or runs == 0 or out.exists():
        folder, began = out / "training", time.time_ns()
        process = zygote.start(out)
        if done < kills:
            match done % 4:
                case 0 | 1:
                    wait_for_a_save(folder, began, process, within=2 * seconds)
                    time.sleep(chance.uniform(0, 0.003))
                case 2:
                    time.sleep(chance.uniform(0, STARTING))
                case 3:
                    time.sleep(chance.uniform(STARTING, 0.6 * seconds))
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(process, signal.SIGKILL)
        code = zygote.answer()
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            assert hashes(out, STEPS) == expected, f"after {done} kills"
            runs += 1
            out = tmp_path / f"run-{runs}"
        else:
            inside_a_save += saves_since(began, folder)
            while_starting += done % 4 == 2
            done += 1
    print(
        f"{done} kills: {inside_a_save} inside a save, {while_starting} in the first "
        f"{1_000 * STARTING:.0f} ms; {runs} runs ended, all alike"
    )
    assert done == kills
    assert inside_a_save >= (kills // 6 if kills == MANY else 1), (
        "most of the kills missed what they are about"
    )
    assert while_starting >= kills // 6


def saves_since(began: int, folder: Path) -> bool:
    """Is a state half written that was begun after this time? Those that earlier kills left are older."""
    with suppress(FileNotFoundError):
        return any(path.stat().st_mtime_ns >= began for path in folder.glob(".tmp-step-*"))
    return False


def wait_for_a_save(folder: Path, began: int, process: int, within: float) -> None:
    """Or until the run has ended."""
    end = time.monotonic() + within
    while time.monotonic() < end and Path(f"/proc/{process}").exists() and not saves_since(began, folder):
        time.sleep(0.0002)


def test_a_full_disk_costs_states_and_not_the_run(
    zygote: Zygote, undisturbed: tuple[dict[str, str], float], tmp_path: Path
) -> None:
    """From step 10 on no file may be longer than a kilobyte; then the disk has room again."""
    out = tmp_path / "run"
    zygote.start(out, limit=1_000)
    assert zygote.answer() == 5, "without room for the model the command ends with what the system says"
    states = sorted(path.name for path in (out / "training").glob("step-*"))
    assert states == ["step-4", "step-8"], "what was saved before is untouched"
    warnings = json.loads((tmp_path / "warnings.json").read_text())
    assert any(
        "step 12: a checkpoint could not be written" in each and "Training continues" in each
        for each in warnings
    )
    assert any(f"step {STEPS}: a checkpoint could not be written" in each for each in warnings)
    zygote.start(out)
    assert zygote.answer() == 0
    assert hashes(out, STEPS) == undisturbed[0]


@pytest.mark.slow
def test_the_command_with_its_helper_is_killed_again_and_again_and_ends_the_same(tmp_path: Path) -> None:
    """The same command every time; one kill in two takes the helper first."""
    pairs = number_pairs(tmp_path / "pairs.tsv")
    options = ["--steps", "60", "--processes", "2", "--log-every", "5"]
    began = time.monotonic()
    subprocess.run(command(pairs, tmp_path / "whole", *options), check=True, capture_output=True)
    seconds = time.monotonic() - began
    expected = hashes(tmp_path / "whole", 60)
    chance, kills, in_training, runs, out = random.Random(1), 0, 0, 0, tmp_path / "killed-0"
    while kills < HELPED or runs == 0 or out.exists():
        with subprocess.Popen(
            command(pairs, out, *options, "--resume"), stderr=subprocess.DEVNULL
        ) as process:
            if kills < HELPED:
                time.sleep(chance.uniform(0.1, 0.9) * seconds)
                with suppress(ProcessLookupError, FileNotFoundError):  # it may have ended
                    for victim in [*(children_of(process.pid) if kills % 2 else []), process.pid]:
                        os.kill(victim, signal.SIGKILL)
            ended = process.wait() == 0
        if ended:
            assert hashes(out, 60) == expected, f"after {kills} kills"
            runs += 1
            out = tmp_path / f"killed-{runs}"
        elif not has_trained(out, 60):  # a kill of one that has is no feat
            kills += 1
            in_training += (out / "training" / "run.json").exists()
    print(
        f"{kills} kills before the last step, {in_training} of a run that had begun; {runs} runs ended, all alike"
    )
    assert in_training >= HELPED // 3, "most of the kills came before there was anything to lose"


def has_trained(out: Path, steps: int) -> bool:
    return (out / "training" / f"step-{steps}").exists() or (out / "report.json").exists()
