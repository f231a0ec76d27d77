"""Masks are boolean and True means "may look"."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.core.masks import causal_mask, padding_mask


def test_the_causal_mask_is_the_decks_triangle() -> None:
    wanted = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert torch.equal(causal_mask(4, 4), torch.tensor(wanted, dtype=torch.bool))


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 9))
def test_with_a_cache_the_mask_is_the_last_rows_of_the_whole_triangle(queries: int, kept: int) -> None:
    keys = queries + kept
    assert torch.equal(causal_mask(queries, keys), causal_mask(keys, keys)[kept:])


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 9))
def test_every_query_may_attend_to_itself_and_to_one_key_more_than_the_one_before(
    queries: int, kept: int
) -> None:
    seen = causal_mask(queries, queries + kept).sum(dim=1)
    assert seen.tolist() == [kept + 1 + query for query in range(queries)]


def test_a_single_newest_query_sees_everything() -> None:
    assert causal_mask(1, 7).all()


def test_the_padding_mask_is_false_exactly_at_padding_and_broadcasts_over_heads_and_queries() -> None:
    ids = torch.tensor([[4, 5, 9, 9, 9], [9, 6, 4, 5, 0]])
    mask = padding_mask(ids, pad=9)
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 5)
    assert mask[:, 0, 0].tolist() == [[True, True, False, False, False], [False, True, True, True, True]]


def test_both_masks_together_allow_what_each_allows() -> None:
    both = causal_mask(3, 3) & padding_mask(torch.tensor([[1, 0, 1]]), pad=0)
    assert both[0, 0].int().tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
