"""Required phrases occur: complete, before the end, and where they cost least."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import BOTH, END, START, TableStep, in_both, log_probability_after

from qkv.decoding.arrays import Arrays
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.constraints import MustContain, interleave_levels
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis

VOCAB = 7
ANYWHERE = [True] * VOCAB


def found(
    sentences: list[int],
    phrases: list[list[list[int]]],
    limits: list[int],
    *,
    width: int = 6,
    alpha: float = 0.6,
    boundary: list[bool] = ANYWHERE,
    once: int = 0,
    best: int = 1,
) -> list[list[Hypothesis]]:
    beam = Beam(width=width, penalty=paper_penalty(alpha), best=best)

    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        start, most = arrays.full((len(sentences),), START), arrays.asarray(limits)
        contain = MustContain(phrases, most, END, boundary, once)
        return beam_search(TableStep(sentences, VOCAB), start, END, most, beam, contain=contain)

    return in_both(search)


def contains(ids: list[int], phrase: list[int]) -> bool:
    return any(ids[start : start + len(phrase)] == phrase for start in range(len(ids)))


words = st.integers(2, VOCAB - 1)
phrase = st.lists(words, min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.lists(phrase, max_size=3), st.integers(0, 6)), min_size=1, max_size=5
    ),
    st.integers(1, 6),
)
def test_every_hypothesis_contains_its_phrases_and_ends_within_its_limit(
    cases: list[tuple[int, list[list[int]], int]], width: int
) -> None:
    if not any(phrases for _, phrases, _ in cases):
        return
    limits = [sum(map(len, phrases)) + 1 + room for _, phrases, room in cases]
    answers = found([row for row, *_ in cases], [each for _, each, _ in cases], limits, width=width)
    for (_, phrases, _), limit, (best, *_) in zip(cases, limits, answers, strict=True):
        assert all(contains(best.ids, each) for each in phrases), (phrases, best.ids)
        assert len(best.ids) + best.finished <= limit
        assert best.finished or len(best.ids) == limit


def test_with_enough_beams_the_best_hypothesis_with_the_phrases_is_found() -> None:
    sentences, phrases, limit = list(range(12)), [[2, 3], [4]], 5
    answers = found(sentences, [phrases] * 12, [limit] * 12, width=3_000, alpha=0.0, best=500)
    for sentence, every in zip(sentences, answers, strict=True):
        best = next(each for each in every if each.finished)
        scores = {}
        for length in range(limit):
            for ids in product(range(VOCAB), repeat=length):
                if END in ids or not all(contains(list(ids), each) for each in phrases):
                    continue
                said = (*ids, END)
                scores[ids] = sum(
                    log_probability_after(sentence, (START, *said[:place]), VOCAB)[token].item()
                    for place, token in enumerate(said)
                )
        assert tuple(best.ids) == max(scores, key=lambda ids: scores[ids])


def test_a_phrase_that_comes_by_itself_changes_nothing() -> None:
    start = torch.full((30,), START)
    limits = torch.full((30,), 8)
    beam = Beam(width=6, penalty=paper_penalty(0.6))
    free = [row[0] for row in beam_search(TableStep(list(range(30)), VOCAB), start, END, limits, beam)]
    chosen = [row for row, each in enumerate(free) if each.finished and len(each.ids) >= 2]
    assert len(chosen) >= 5
    answers = found(chosen, [[free[row].ids[:1]] for row in chosen], [8] * len(chosen), width=12)
    same = sum(answer[0].ids == free[row].ids for row, answer in zip(chosen, answers, strict=True))
    assert same >= 0.8 * len(chosen)  # the beams are shared out otherwise, so that a few may differ


def test_hypotheses_do_not_depend_on_neighbours_with_other_phrases() -> None:
    phrases: list[list[list[int]]] = [[[2, 3]], [], [[5], [6, 6]], [[4, 4, 4]]]
    together = found([1, 2, 3, 4], phrases, [9] * 4)
    for row in (0, 2, 3):
        (alone,) = found([row + 1], [phrases[row]], [9])
        assert alone[0].ids == together[row][0].ids


def test_the_token_after_a_phrase_does_not_continue_its_word() -> None:
    boundary = [True, True, True, True, False, False, False]  # 4, 5 and 6 continue words
    for (best, *_), sentence in zip(
        found(list(range(30)), [[[2, 5]]] * 30, [10] * 30, boundary=boundary), range(30), strict=True
    ):
        place = next(at for at in range(len(best.ids)) if best.ids[at : at + 2] == [2, 5])
        after = best.ids[place + 2 :]
        assert not after or after[0] in (0, 2, 3), sentence


def test_a_phrase_occurs_only_once_if_requested() -> None:
    many = found(list(range(40)), [[[2]]] * 40, [12] * 40, alpha=3.0)
    assert any(best.ids.count(2) > 1 for best, *_ in many)
    once = found(list(range(40)), [[[2]]] * 40, [12] * 40, alpha=3.0, once=1)
    assert all(best.ids.count(2) == 1 for best, *_ in once)


def test_all_hypotheses_of_a_search_contain_the_phrases() -> None:
    for row in found(list(range(10)), [[[3, 2]]] * 10, [8] * 10, best=4):
        assert len(row) == 4
        assert all(contains(each.ids, [3, 2]) for each in row)


def test_as_a_rule_it_holds_without_a_beam_too() -> None:
    limits = torch.full((20,), 7)
    rule = MustContain([[[5, 5], [6]]] * 20, limits, END, ANYWHERE)
    for each in greedy(TableStep(list(range(20)), VOCAB), torch.full((20,), START), END, limits, [rule]):
        assert contains(each.ids, [5, 5])
        assert 6 in each.ids


def test_phrases_that_do_not_fit_raise_an_error() -> None:
    with pytest.raises(ValueError, match="do not fit into its length limit"):
        found([1], [[[2, 3, 4]]], [3])


@pytest.mark.parametrize("arrays", BOTH)
def test_the_best_of_every_level_come_first(arrays: Arrays) -> None:
    levels = arrays.asarray([[2, 2, 0, 1, 0, 2]])
    scores = arrays.asarray([[-1.0, -2, -3, float("-inf"), -5, -6]])
    assert interleave_levels(levels, scores).tolist() == [[0, 2, 1, 4, 5, 3]]
