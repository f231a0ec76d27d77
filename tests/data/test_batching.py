"""Batches hold every sentence once, keep to their budget and waste little on padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.data.batching import pad_rows, token_batches

LENGTHS = st.lists(st.integers(1, 50), max_size=80)
SEEDS = st.one_of(st.none(), st.integers(0, 2**63 - 1))


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 200), SEEDS)
def test_every_index_comes_exactly_once(lengths: list[int], budget: int, seed: int | None) -> None:
    batches = token_batches(lengths, budget, seed)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches), "no batch is empty"


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 200), SEEDS)
def test_the_budget_holds_padding_included(lengths: list[int], budget: int, seed: int | None) -> None:
    for batch in token_batches(lengths, budget, seed):
        padded = len(batch) * max(lengths[index] for index in batch)
        assert padded <= budget or len(batch) == 1


def test_a_sentence_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    assert token_batches([3, 100, 3], 10, None) == [[0, 2], [1]]


@pytest.mark.parametrize("seed", [0, 1, 2**62])
def test_the_same_seed_gives_the_same_order(seed: int) -> None:
    lengths = [1 + number * 7 % 30 for number in range(500)]
    assert token_batches(lengths, 128, seed) == token_batches(lengths, 128, seed)


def test_another_seed_gives_other_batches_in_another_order() -> None:
    lengths = [1 + number * 7 % 30 for number in range(500)]
    first, second = token_batches(lengths, 128, 1), token_batches(lengths, 128, 2)
    assert first != second
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}


def test_a_seed_shuffles_the_lengths_of_consecutive_batches() -> None:
    lengths = [1 + number * 7 % 30 for number in range(500)]
    widest = [max(lengths[index] for index in batch) for batch in token_batches(lengths, 128, 1)]
    assert widest != sorted(widest)


def test_without_a_seed_the_order_is_by_length_and_stable() -> None:
    lengths = [5, 1, 5, 3, 1]
    order = [index for batch in token_batches(lengths, 10, None) for index in batch]
    assert order == [1, 4, 3, 0, 2]


def test_padding_wastes_little() -> None:
    lengths = [3 + number * number % 40 for number in range(3_000)]
    batches = token_batches(lengths, 1_024, 1)
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches)
    assert padded < 1.05 * sum(lengths)
    assert len(batches) < 1.2 * sum(lengths) / 1_024


def test_rows_are_padded_at_the_end() -> None:
    padded = pad_rows([[5, 6, 7], [8], []], pad=0)
    assert torch.equal(padded, torch.tensor([[5, 6, 7], [8, 0, 0], [0, 0, 0]]))


def test_two_lengths_of_each_are_alike_in_a_batch() -> None:
    """Both sides of a pair are padded: among pairs of one length, those that lean alike stand together."""
    sides = [(3 + number * 7 % 30, 3 + number * 11 % 29) for number in range(6_000)]
    longest, tiebreak = [max(both) for both in sides], [first - second for first, second in sides]

    def wasted(batches: list[list[int]]) -> float:
        padded = sum(len(batch) * max(sides[i][side] for i in batch) for batch in batches for side in (0, 1))
        return 1 - sum(map(sum, sides)) / padded

    assert wasted(token_batches(longest, 1_024, 1, tiebreak)) < 0.5 * wasted(token_batches(longest, 1_024, 1))
    assert token_batches(longest, 1_024, 1, tiebreak) != token_batches(longest, 1_024, 2, tiebreak)
