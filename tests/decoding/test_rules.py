"""Rules for the next token, each compared with an exhaustive check."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tables import BOTH, END, START, TableStep, in_both

from qkv.decoding.arrays import Arrays
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import (
    FORBIDDEN,
    Forbidden,
    NoRepeat,
    NotEmpty,
    Prefixes,
    RepetitionPenalty,
    Rule,
    TakeTurns,
    Under,
    under,
)
from qkv.decoding.step import Ensemble
from qkv.text.avoid import stack_tables

VOCAB, SENTENCES = 6, list(range(30))
LIMITS = torch.tensor([3 + row % 25 for row in SENTENCES])
STARTS = torch.full((len(SENTENCES),), START)
BEAM = Beam(width=4, penalty=paper_penalty(0.6), best=2)


def answers(*rules: Rule) -> list[Hypothesis]:
    """Of both ways to decode."""
    walked = in_both(lambda arrays: [walk_greedily(arrays, *rules)])
    searched = in_both(lambda arrays: search(arrays, *rules))
    assert len(searched) == len(SENTENCES)
    assert all(searched)
    return [each for row in [*walked, *searched] for each in row]


def walk_greedily(arrays: Arrays, *rules: Rule) -> list[Hypothesis]:
    limits = arrays.asarray(LIMITS)
    return greedy(TableStep(SENTENCES, VOCAB), arrays.asarray(STARTS), END, limits, rules)


def search(arrays: Arrays, *rules: Rule) -> list[list[Hypothesis]]:
    limits = arrays.asarray(LIMITS)
    return beam_search(TableStep(SENTENCES, VOCAB), arrays.asarray(STARTS), END, limits, BEAM, rules)


both = pytest.mark.parametrize("arrays", BOTH)


def sequences(ids: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_n_gram_of_the_given_size_occurs_twice(size: int) -> None:
    free = [sequences(each.ids, size) for each in answers()]
    assert any(len(found) > len(set(found)) for found in free), "without the rule it happens"
    for each in answers(NoRepeat(size)):
        found = sequences(each.ids, size)
        assert len(found) == len(set(found))


@both
def test_the_rule_against_repetition_forbids_nothing_else(arrays: Arrays) -> None:
    said = arrays.asarray([[2, 3, 4, 2, 3], [2, 2, 2, 2, 2], [2, 3, 4, 5, 3]])
    scores = under([NoRepeat(3)], arrays.zeros((3, VOCAB)), said, arrays.arange(3))
    rows, ids = arrays.nonzero(scores < 0)
    assert [rows.tolist(), ids.tolist()] == [[0, 1], [4, 2]]


@both
def test_the_repetition_penalty_multiplies_log_probabilities_of_generated_ids(arrays: Arrays) -> None:
    scores = arrays.zeros((2, VOCAB)) - 2
    said = arrays.asarray([[2, 2, 3], [4, 4, 4]])
    changed = under([RepetitionPenalty(1.5)], scores, said, arrays.arange(2))
    assert changed.tolist() == [[-2, -2, -3, -3, -2, -2], [-2, -2, -2, -2, -3, -2]]


def test_every_hypothesis_begins_with_its_prefix_and_is_scored_by_the_model() -> None:
    prefixes = [[2, 3][: row % 3] for row in SENTENCES]
    rule = Prefixes(prefixes)
    for found in (
        in_both(lambda arrays: [walk_greedily(arrays, rule)])[0],
        [row[0] for row in in_both(lambda arrays: search(arrays, rule))],
    ):
        for sentence, (prefix, each) in enumerate(zip(prefixes, found, strict=True)):
            assert each.ids[: len(prefix)] == prefix
            step = TableStep([sentence], VOCAB)
            said = [*each.ids, END] if each.finished else each.ids
            own = [
                step(torch.tensor([[before]])).log_softmax(-1)[0, token].item()
                for before, token in pairwise([START, *said])
            ]
            assert each.log_probabilities == pytest.approx(own, abs=1e-5)


def test_a_prefix_that_contains_the_end_is_the_whole_hypothesis() -> None:
    """As fairseq has it: what is forced may end a sentence."""
    (found,) = beam_search(TableStep([3], VOCAB), STARTS[:1], END, LIMITS[:1], BEAM, [Prefixes([[2, END]])])
    assert [each.ids for each in found] == [[2]]
    assert found[0].finished


def automaton_of(phrase: list[int]) -> NDArray[np.int16]:
    """By definition: for each number of ids that agree, how many do after each id."""
    table = np.zeros((len(phrase), VOCAB), np.int16)
    for state in range(len(phrase)):
        for token in range(VOCAB):
            said = [*phrase[:state], token]
            agree = next(n for n in range(len(said), -1, -1) if said[len(said) - n :] == phrase[:n])
            table[state, token] = FORBIDDEN if agree == len(phrase) else agree
    return table


def test_forbidden_phrases_do_not_occur_and_each_sentence_has_its_own() -> None:
    phrases = [[2], [3, 4], [4, 4, 2]]
    tables = stack_tables([automaton_of(each) for each in phrases])
    wanted = [[[0, 1, 2], [1], [], [2]][row % 4] for row in SENTENCES]
    free = walk_greedily(BOTH[1])
    (found,) = in_both(lambda arrays: [walk_greedily(arrays, Forbidden(tables, wanted))])
    searched = in_both(lambda arrays: search(arrays, Forbidden(tables, wanted)))
    for own, before, each, row in zip(wanted, free, found, searched, strict=True):
        for hypothesis in (each, *row):
            for number in own:
                assert tuple(phrases[number]) not in sequences(hypothesis.ids, len(phrases[number]))
        if not own:
            assert each == before
    assert found != free


def forbidden_after(tables: NDArray[np.int16], phrases: list[int], ids: list[int]) -> set[int]:
    """By definition: follow every automaton from the first id on."""
    found: set[int] = set()
    for table in tables[phrases]:
        state = 0
        for token in ids:
            state = max(0, table[state, token])  # 0 after a forced id
        found |= set(np.flatnonzero(table[state] == FORBIDDEN).tolist())
    return found


@both
def test_states_that_are_kept_forbid_what_the_whole_sequence_forbids(arrays: Arrays) -> None:
    """Rows are reordered, repeated and dropped, as in beam search. Ids may be forced although they are forbidden."""
    rng = np.random.default_rng(5)
    tables = stack_tables([automaton_of(each) for each in ([2], [3, 4], [4, 4, 2], [5, 3, 5, 5])])
    wanted = [[0, 1], [2, 3, 1], [], [3]]
    kept, rows, generated = Under([Forbidden(tables, wanted)]), np.arange(4), np.zeros((4, 0), np.int64)
    for _ in range(40):
        scores = kept(
            arrays.zeros((len(rows), VOCAB)), arrays.asarray(generated), arrays.asarray(rows)
        ).tolist()
        for row, ids, own in zip(rows, generated.tolist(), scores, strict=True):
            found = {token for token, score in enumerate(own) if score < 0}
            assert found == forbidden_after(tables, wanted[row], ids)
        order = np.concatenate([rng.permutation(len(rows))[:4], rng.integers(0, len(rows), rng.integers(4))])
        order = np.concatenate([[np.flatnonzero(rows == row)[-1] for row in range(4)], order])
        kept.select(arrays.asarray(order))
        generated = np.concatenate([generated[order], rng.integers(2, VOCAB, (len(order), 1))], axis=1)
        rows = rows[order]


def test_a_step_reads_only_the_newest_id(monkeypatch: pytest.MonkeyPatch) -> None:
    read, real = [], Forbidden.next_states
    monkeypatch.setattr(Forbidden, "next_states", lambda *given: read.append(0) or real(*given))  # type: ignore[func-returns-value]
    rule = Forbidden(stack_tables([automaton_of([3, 4])]), [[0]] * len(SENTENCES))
    found = walk_greedily(BOTH[0], rule)
    assert len(read) == max(len(each.log_probabilities) for each in found) - 1


def test_empty_hypotheses_can_be_excluded() -> None:
    assert any(not each.ids for each in answers())
    assert all(each.ids for each in answers(NotEmpty(END)))


def test_an_ensemble_is_the_mean_of_its_probabilities() -> None:
    steps = [TableStep([2, 3], VOCAB), TableStep([7, 9], VOCAB)]
    alone = [step(torch.tensor([[START], [START]])).softmax(-1) for step in steps]
    together = Ensemble([TableStep([2, 3], VOCAB), TableStep([7, 9], VOCAB)])
    mean = together(torch.tensor([[START], [START]])).softmax(-1)
    assert torch.allclose(mean, (alone[0] + alone[1]) / 2, atol=1e-6)
    together.select(torch.tensor([1]))
    again = together(torch.tensor([[4]])).softmax(-1)
    for step in steps:
        step.select(torch.tensor([1]))
    assert torch.allclose(
        again, torch.stack([step(torch.tensor([[4]])).softmax(-1) for step in steps]).mean(0)
    )


def test_an_ensemble_of_a_model_with_itself_is_that_model() -> None:
    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        pair = Ensemble([TableStep(SENTENCES, VOCAB), TableStep(SENTENCES, VOCAB)])
        return [greedy(pair, arrays.asarray(STARTS), END, arrays.asarray(LIMITS))]

    (found,) = in_both(search)
    assert [each.ids for each in found] == [each.ids for each in walk_greedily(BOTH[0])]


@both
def test_only_the_ids_of_the_current_turn_are_allowed(arrays: Arrays) -> None:
    rule = TakeTurns([[0, 2], [1]], vocab=4, first=1)
    scores, rows = arrays.zeros((1, 4)), arrays.arange(1)
    allowed = [
        arrays.nonzero(under([rule], scores, arrays.full((1, length), 0), rows) == 0)[1].tolist()
        for length in range(3)
    ]
    assert allowed == [[1], [0, 2], [1]]
