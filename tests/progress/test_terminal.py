"""Without a terminal, progress is printed as lines."""

import logging

import pytest

from qkv.progress import delayed, terminal
from qkv.progress.terminal import TrainingDisplay
from qkv.training.position import Position


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def not_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether notices are shown belongs to the process, and another test may have run a quiet command in it."""
    monkeypatch.setattr(terminal.err, "silenced", False)
    monkeypatch.setattr(logging.getLogger("qkv"), "level", logging.NOTSET)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def display(clock: Clock) -> TrainingDisplay:
    assert not terminal.err.is_terminal
    return TrainingDisplay(now=clock)


def walk(display: TrainingDisplay, clock: Clock, steps: range, total: int) -> None:
    for step in steps:
        clock.seconds += 1.0
        display.on_step(Position(step=step, seconds=clock.seconds), step / total, 2.5, 1234.0, 0.001)


def test_training_prints_step_loss_speed_and_time_left_every_thirty_seconds(
    display: TrainingDisplay, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(display, clock, range(1, 91), total=120)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["30", "60", "90"]
    assert " ".join(lines[0].split()) == "step 30 0.5 min loss 2.500, 1,234 tokens/s, about 1:30 left"


def test_a_validation_line_delays_the_next_progress_line(
    display: TrainingDisplay, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(display, clock, range(1, 21), total=120)
    display.on_validation(Position(step=20, seconds=20.0), 2.0, improved=True)
    walk(display, clock, range(21, 51), total=120)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["20", "50"]


def test_work_after_the_last_step_is_named_at_once_and_its_progress_printed(
    display: TrainingDisplay, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(display, clock, range(1, 3), total=2)
    for completed in range(0, 101, 10):
        display.on_work("translating", completed, 100)
        clock.seconds += 4.0
    display.on_work("scoring", 0, 1)
    assert capsys.readouterr().err.splitlines() == [
        "translating",
        "translating: 30 of 100, about 0:28 left",
        "translating: 60 of 100, about 0:16 left",
        "translating: 90 of 100, about 0:04 left",
        "scoring",
    ]


def test_nothing_is_shown_for_a_job_that_ends_within_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 1.9, 60.0])
    shown: list[str] = []
    with delayed.count_progress("counting", 30, lines=True, clock=lambda: next(times)) as advance:
        for _ in range(3):
            advance(10)
            shown.append(capsys.readouterr().err)
    assert shown[:2] == ["", ""]
