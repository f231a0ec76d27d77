"""An ensemble in the compiled search equals the general search over the same steps."""

from dataclasses import replace

import numpy as np
import pytest
from engine_models import CONFIG, END, LIMITS, PENALTY, SOURCES, START, engine_of, engines

from qkv.core.translation import CrossHeads
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import NoRepeat, NotEmpty, Rule
from qkv.decoding.step import Ensemble, Step, Without
from qkv.engine import Engine, PlainSearch


def general(models: list[Engine], plain: PlainSearch) -> list[list[Hypothesis]]:
    steps: list[Step] = [each.begin(SOURCES) for each in models]
    if plain.never is not None:
        steps = [Without(each, plain.never) for each in steps]
    start, limits = np.full(len(SOURCES), START), np.array(LIMITS)
    rules: list[Rule] = [NotEmpty(END)]
    if plain.no_repeat_ngram_size:
        rules.append(NoRepeat(plain.no_repeat_ngram_size))
    if plain.width == 1:
        found = greedy(Ensemble(steps), start, END, limits, rules)
        return [[replace(each, score=each.score / PENALTY(len(each.log_probabilities)))] for each in found]
    beam = Beam(width=plain.width, penalty=PENALTY, best=plain.best)
    return beam_search(Ensemble(steps), start, END, limits, beam, rules)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("vocab", [37, 300])
@pytest.mark.parametrize(
    "plain",
    [
        PlainSearch(width=1, penalty=PENALTY),
        PlainSearch(width=4, penalty=PENALTY, best=3),
        PlainSearch(width=1, penalty=PENALTY, never=5, no_repeat_ngram_size=2),
        PlainSearch(width=3, penalty=PENALTY, never=36, no_repeat_ngram_size=1),
    ],
    ids=["greedy", "beam", "greedy under rules", "beam under rules"],
)
def test_it_equals_the_general_search(plain: PlainSearch, vocab: int, int8: bool) -> None:
    for threads in (1, 2):
        models = engines(vocab, int8=int8, threads=threads)
        found = models[0].together_with(models[1:]).search(SOURCES, LIMITS, plain)
        for one, other in zip(found, general(models, plain), strict=True):
            assert [(each.ids, each.finished) for each in one] == [
                (each.ids, each.finished) for each in other
            ]
            for mine, theirs in zip(one, other, strict=True):
                assert mine.score == pytest.approx(theirs.score, abs=1e-4)
                assert mine.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-4)


@pytest.mark.parametrize("width", [1, 3])
def test_it_depends_neither_on_threads_nor_on_neighbours(width: int) -> None:
    plain = PlainSearch(width=width, penalty=PENALTY)
    together = None
    for threads in (1, 2):
        first, *others = engines(300, int8=True, threads=threads)
        ensemble = first.together_with(others)
        found = ensemble.search(SOURCES, LIMITS, plain)
        assert together is None or found == together
        together = found
        for row, (source, limit) in enumerate(zip(SOURCES, LIMITS, strict=True)):
            assert ensemble.search([source], [limit], plain) == [found[row]]


def test_a_model_with_itself_gives_its_own_hypotheses_and_its_attention() -> None:
    engine = engine_of(CONFIG, int8=False, threads=1)
    plain = PlainSearch(width=3, penalty=PENALTY, look=CrossHeads(block=1, heads=(0, 2)))
    for one, other in zip(
        engine.search(SOURCES, LIMITS, plain),
        engine.together_with([engine]).search(SOURCES, LIMITS, plain),
        strict=True,
    ):
        assert one[0].ids == other[0].ids
        np.testing.assert_allclose(one[0].attention, other[0].attention, atol=1e-6)
        assert one[0].score == pytest.approx(other[0].score, abs=1e-5)


def test_the_smallest_context_limits_it() -> None:
    first, *others = engines(37, int8=False, threads=1)
    with pytest.raises(ValueError, match="context of 24"):
        first.together_with(others).search(SOURCES, [25, 9, 9], PlainSearch(width=1, penalty=PENALTY))
