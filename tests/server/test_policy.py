"""The scheduling policy: turns, budgets and patience, without threads."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from qkv.server.policy import (
    EVERY,
    FEW_ROWS,
    MOST_ROWS,
    QUANTUM,
    TRIALS,
    BatchLimits,
    ThreadChoice,
    Waiting,
    choose,
    limits_for,
    order,
    share_batch,
)


def batch(queues: Sequence[Sequence[str]], **limits: int) -> list[str]:
    return choose(queues, lambda unit: unit[0], len, BatchLimits(**limits))


def test_requests_take_turns() -> None:
    queues = [["a1", "a2", "a3"], ["a4"], ["a5", "a6"]]
    assert batch(queues) == ["a1", "a4", "a5", "a2", "a6", "a3"]


def test_a_long_array_never_slows_down_a_sentence() -> None:
    sentence, array = Waiting(10, since=0.0), Waiting(10_000, since=0.0)
    assert not share_batch(sentence, array)
    assert share_batch(array, sentence)
    assert share_batch(sentence, Waiting(60, since=0.0))


def test_batches_of_an_array_are_small_only_while_sentences_come() -> None:
    array = Waiting(10_000, since=0.0)
    busy = limits_for(array, 1_000, workers=2, pace=300.0, interactive=True)
    quiet = limits_for(array, 1_000, workers=2, pace=300.0, interactive=False)
    assert (busy.tokens, busy.per_queue) == (300 * QUANTUM, FEW_ROWS)
    assert (quiet.tokens, quiet.per_queue) == (512, MOST_ROWS)
    twenty = limits_for(Waiting(200, since=0.0), 20, workers=2, pace=300.0, interactive=False)
    assert twenty.per_queue == 10  # half for each worker


def test_a_batch_has_one_group() -> None:
    assert batch([["a1", "b1", "a2"], ["b2"]]) == ["a1", "a2"]


def test_the_first_segment_is_taken_whatever_its_size() -> None:
    assert batch([["a" * 900], ["a"]], tokens=100) == ["a" * 900]


def test_little_work_comes_first_and_waiting_counts() -> None:
    assert order([Waiting(500, since=0.0), Waiting(10, since=0.0)], now=0.0) == [1, 0]
    assert order([Waiting(50_000, since=0.0), Waiting(10, since=1.0)], now=1.0) == [0, 1]


@given(st.lists(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=30), max_size=20))
def test_a_batch_is_within_its_limits_and_takes_something_if_it_can(queues: list[list[str]]) -> None:
    chosen = batch(queues, tokens=12)
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
