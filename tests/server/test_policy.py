"""The scheduling policy: turns, budgets and patience, without threads."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from qkv.server.policy import EVERY, FEW_ROWS, MOST_ROWS, TRIALS, ThreadChoice, Waiting, choose, order


def batch(queues: Sequence[Sequence[str]], **options: int) -> list[str]:
    return choose(queues, group=lambda unit: unit[0], tokens=lambda unit: len(unit), **options)


def test_requests_take_turns() -> None:
    queues = [["a1", "a2", "a3"], ["a4"], ["a5", "a6"]]
    assert batch(queues) == ["a1", "a4", "a5", "a2", "a6", "a3"]


def test_a_long_array_never_fills_a_batch_alone() -> None:
    assert len(batch([["a"] * 1_000])) == FEW_ROWS
    chosen = batch([["a1"], ["a2"] * 1_000])
    assert chosen[0] == "a1"
    assert len(chosen) == FEW_ROWS + 1


def test_a_batch_has_one_group() -> None:
    assert batch([["a1", "b1", "a2"], ["b2"]]) == ["a1", "a2"]


def test_the_first_segment_is_taken_whatever_its_size() -> None:
    assert batch([["a" * 900], ["a"]], budget=100) == ["a" * 900]


def test_little_work_comes_first_and_waiting_counts() -> None:
    assert order([Waiting(500, since=0.0), Waiting(10, since=0.0)], now=0.0) == [1, 0]
    assert order([Waiting(500, since=0.0), Waiting(10, since=20.0)], now=20.0) == [0, 1]


@given(st.lists(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=30), max_size=20))
def test_a_batch_is_within_its_limits_and_takes_something_if_it_can(queues: list[list[str]]) -> None:
    chosen = batch(queues, budget=12)
    assert len(chosen) <= MOST_ROWS
    assert sum(map(len, chosen)) <= 12
    assert bool(chosen) == any(queues)


def test_the_faster_number_of_threads_is_used_and_the_other_one_is_tried_again() -> None:
    choice, used = ThreadChoice(), []
    for _ in range(2 * TRIALS + 2 * EVERY):
        used.append(choice.use_all())
        choice.measured(used[-1], 0.002 if used[-1] else 0.001)
    assert sum(used[: 2 * TRIALS]) == TRIALS
    assert sum(used[2 * TRIALS :]) == 2  # all threads were slower
    for _ in range(2 * EVERY):
        choice.measured(choice.use_all(), 0.001)
        choice.measured(True, 0.0001)
    assert choice.use_all()
