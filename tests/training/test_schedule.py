"""Learning-rate schedules are pure functions of step and progress."""

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.training.schedule import rate_at, warmup_steps
from qkv.training.settings import TrainingSettings

Schedule = Literal["linear", "inverse-root", "constant"]
SCHEDULES: list[Schedule] = ["linear", "inverse-root", "constant"]
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def training(schedule: Schedule, warmup_steps: int = 100, rate: float = 0.3) -> TrainingSettings:
    return TrainingSettings(
        batch_tokens=1, learning_rate=rate, warmup_steps=warmup_steps, schedule=schedule, validate_every=1
    )


def rates(schedule: Schedule, steps: int, warmup_steps: int = 100) -> list[float]:
    return [
        rate_at(training(schedule, warmup_steps), step, (step - 1) / steps) for step in range(1, steps + 1)
    ]


@pytest.mark.parametrize("schedule", ["inverse-root", "constant"])
def test_the_rate_rises_through_the_warm_up_and_never_rises_after_it(schedule: Schedule) -> None:
    run = rates(schedule, 1000)
    assert all(before < after for before, after in pairwise(run[:100]))
    assert all(before >= after for before, after in pairwise(run[99:]))


@settings(deadline=None)
@given(st.sampled_from(SCHEDULES), st.integers(0, 500), st.integers(1, 10_000), st.floats(0, 1))
def test_the_rate_is_never_negative_and_never_above_the_chosen_one(
    schedule: Schedule, warmup: int, step: int, progress: float
) -> None:
    assert 0 <= rate_at(training(schedule, warmup), step, progress) <= 0.3


@settings(deadline=None)
@given(st.sampled_from(SCHEDULES), st.integers(0, 500), st.integers(1, 10_000), st.floats(0, 1))
def test_the_rate_is_in_proportion_to_the_chosen_one(
    schedule: Schedule, warmup: int, step: int, progress: float
) -> None:
    small, large = (rate_at(training(schedule, warmup, rate), step, progress) for rate in (0.1, 0.7))
    assert large == pytest.approx(7 * small)


@every_schedule
def test_the_first_step_already_learns_and_the_warm_up_is_a_straight_line(schedule: Schedule) -> None:
    chosen = training(schedule)
    assert rate_at(chosen, 1, 0.0) == pytest.approx(0.003)
    assert rate_at(chosen, 50, 0.005) == pytest.approx(0.15)


@every_schedule
def test_without_a_warm_up_the_first_step_has_the_chosen_rate(schedule: Schedule) -> None:
    assert rate_at(training(schedule, warmup_steps=0), 1, 0.0) == 0.3


@pytest.mark.parametrize("schedule", ["inverse-root", "constant"])
def test_the_peak_is_at_the_end_of_the_warm_up(schedule: Schedule) -> None:
    run = rates(schedule, 1000)
    assert max(run) == run[99] == 0.3


def test_the_linear_rate_is_the_lower_of_the_line_up_and_the_line_down() -> None:
    run = rates("linear", 1000)
    assert run == pytest.approx([0.3 * min(step / 100, (1001 - step) / 1000) for step in range(1, 1001)])


def test_the_linear_rate_reaches_zero_at_the_end_of_the_run() -> None:
    chosen = training("linear")
    assert rate_at(chosen, 1000, 1.0) == 0
    assert rate_at(chosen, 1000, 1.2) == 0  # a run by minutes may overshoot
    assert rate_at(chosen, 1000, 0.75) == pytest.approx(0.25 * 0.3)


def test_the_inverse_root_halves_when_the_steps_are_four_times_as_many() -> None:
    chosen = training("inverse-root")
    assert rate_at(chosen, 4000, 0.4) == pytest.approx(rate_at(chosen, 1000, 0.1) / 2)


def test_the_constant_rate_stays() -> None:
    assert set(rates("constant", 1000)[99:]) == {0.3}


@pytest.mark.parametrize("schedule", ["inverse-root", "constant"])
@settings(deadline=None)
@given(progress=st.floats(0, 1))
def test_schedules_without_an_end_do_not_depend_on_progress(schedule: Schedule, progress: float) -> None:
    chosen = training(schedule)
    assert rate_at(chosen, 300, progress) == rate_at(chosen, 300, 0.0)


@settings(deadline=None)
@given(st.integers(1, 2048), st.integers(1, 10_000), st.integers(1, 300_000))
def test_the_inverse_root_is_equation_3_of_the_paper(width: int, warmup: int, step: int) -> None:
    chosen = training("inverse-root", warmup, (width * warmup) ** -0.5)
    equation = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert rate_at(chosen, step, 0.5) == pytest.approx(equation, rel=1e-9)


def test_in_a_run_shorter_than_its_warm_up_the_rate_still_rises_to_most_of_its_height() -> None:
    run = rates("linear", 50, warmup_steps=1000)
    assert max(run) > 0.8 * 0.3
    assert run.index(max(run)) < 10


@pytest.mark.parametrize(
    ("steps", "warmup", "used"), [(181, 320, 24), (10_000, 320, 320), (181, 5, 5), (181, 0, 0)]
)
def test_the_warm_up_that_a_report_shows_is_the_one_that_was_used(steps: int, warmup: int, used: int) -> None:
    assert warmup_steps(training("linear", warmup), steps) == used
    found = rates("linear", steps, warmup)
    assert all(before > after for before, after in pairwise(found[used:]))
    assert all(
        before < after for before, after in pairwise(found[: used * 8 // 9])
    )  # then the line down is lower
    assert warmup_steps(training("inverse-root", warmup), steps) == warmup
