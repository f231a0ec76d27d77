"""NumPy and torch give the same decoding results, and decoding with NumPy needs no torch."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from tables import BOTH, in_both

from qkv.decoding.arrays import Array, Arrays, arrays_of
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.constraints import MustContain
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Forbidden, NoRepeat, NotEmpty, Prefixes, RepetitionPenalty, Rule
from qkv.decoding.sampling import Sampling, sample
from qkv.decoding.step import Ensemble, Step, Without

VOCAB, START, END, ROWS, LIMIT = 3_000, 0, 1, 4, 25
both = pytest.mark.parametrize("arrays", BOTH)


class Logits:
    """Random logits of every text: a function of its sentence and its last two ids."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rows = [(row, 0, 0) for row in range(ROWS)]

    def __call__(self, ids: Array) -> Array:
        newest = zip(self.rows, ids[:, -1].tolist(), strict=True)
        self.rows = [(row, last, new) for (row, _, last), new in newest]
        return arrays_of(ids).asarray(np.stack([self.after(row) for row in self.rows]))

    def after(self, row: tuple[int, int, int]) -> NDArray[np.float32]:
        logits = np.random.default_rng([self.seed, *row]).standard_normal(VOCAB, np.float32)
        logits[row[1] % 7 + 2 : 40] += 4  # so that n-grams repeat
        return 1.5 * logits

    def select(self, rows: Array) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]


def automaton() -> NDArray[np.int16]:
    """Ids 2 to 9 must not follow one another."""
    table = np.zeros((1, 2, VOCAB), np.int16)
    table[0, 0, 2:10], table[0, 1, 2:10] = 1, -1
    return table


def rules(arrays: Arrays) -> list[Rule]:
    return [
        NotEmpty(END),
        RepetitionPenalty(1.3),
        NoRepeat(2),
        Forbidden(automaton(), [[0], [], [0], [0]]),
        Prefixes([[5, 50], [], [7], []]),
    ]


def inputs(arrays: Arrays) -> tuple[Array, int, Array]:
    return arrays.full((ROWS,), START), END, arrays.full((ROWS,), LIMIT)


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("contained", [False, True])
def test_beam_search_finds_the_same_in_both(ruled: bool, contained: bool) -> None:
    beam = Beam(width=5, penalty=paper_penalty(1.0), best=3)
    boundary = [token % 3 > 0 for token in range(VOCAB)]
    phrases = [[[11, 12], [700]], [], [[11]], [[30, 31, 32]]]

    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        start, end, limits = inputs(arrays)
        contain = MustContain(phrases, limits, END, boundary, 1) if contained else None
        return beam_search(Logits(), start, end, limits, beam, rules(arrays) if ruled else [], contain)

    assert max(len(row[0].ids) for row in in_both(search)) > 10


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.7, top_k=40),
        Sampling(top_p=0.5),
        Sampling(temperature=3.0, top_p=0.95, min_p=0.001),
    ],
    ids=str,
)
@pytest.mark.parametrize("ruled", [False, True])
def test_a_seed_draws_the_same_in_both(sampling: Sampling, ruled: bool) -> None:
    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        return [sample(Logits(), *inputs(arrays), sampling, range(ROWS), rules(arrays) if ruled else [])]

    in_both(search)


def test_an_ensemble_without_padding_finds_the_same_in_both() -> None:
    beam = Beam(width=3, penalty=paper_penalty(0.6), best=2)

    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        steps: list[Step] = [Without(Logits(seed), 3) for seed in (1, 2)]
        return beam_search(Ensemble(steps), *inputs(arrays), beam)

    assert all(3 not in each.ids for row in in_both(search) for each in row)


@both
@pytest.mark.parametrize("count", [1, 3, 10, 200])
def test_the_largest_numbers_come_in_order_and_equals_by_index(arrays: Arrays, count: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 50, (5, 1_000)).astype(np.float32)  # many are equal
    numbers[1, 7:] = -np.inf
    numbers[2] = -np.inf
    numbers[3, :] = 4
    values, index = arrays.top_k(arrays.asarray(numbers), count)
    order = (-numbers).argsort(axis=1, kind="stable")[:, :count]
    wanted = np.take_along_axis(numbers, order, 1)
    assert np.array_equal(np.asarray(values), wanted)
    assert np.array_equal(np.asarray(index)[wanted > -np.inf], order[wanted > -np.inf])


@both
def test_broken_logits_give_no_hypothesis(arrays: Arrays) -> None:
    class Broken(Logits):
        def after(self, row: tuple[int, int, int]) -> NDArray[np.float32]:
            return super().after(row) * np.float32("nan")

    assert not any(beam_search(Broken(), *inputs(arrays), Beam(width=3, penalty=paper_penalty(0.6))))


@both
def test_a_log_softmax_of_many_rows_is_that_of_each(arrays: Arrays) -> None:
    numbers = 5 * np.random.default_rng(2).standard_normal((50, VOCAB), np.float32)
    exact = numbers.astype(np.float64)
    exact -= np.log(np.exp(exact).sum(axis=1, keepdims=True))
    assert np.allclose(np.asarray(arrays.log_softmax(arrays.asarray(numbers))), exact, atol=1e-5)


WITHOUT_TORCH = """
import importlib, pkgutil, sys
sys.modules["torch"] = None  # an import of it fails
import numpy as np
import qkv.decoding, qkv.data.batching, qkv.text.avoid, qkv.text.whole_characters
for module in pkgutil.iter_modules(qkv.decoding.__path__, "qkv.decoding."):
    importlib.import_module(module.name)
from qkv.decoding.beam import beam_search
from qkv.decoding.beam_options import Beam, paper_penalty
from qkv.decoding.rules import NoRepeat
from qkv.decoding.sampling import Sampling, sample

class Constant:
    def __call__(self, ids):
        return np.tile(np.float32([0, 1, 3, 2]), (len(ids), 1))
    def select(self, rows): ...

start, limits = np.zeros(2, np.int64), np.array([6, 7])
assert beam_search(Constant(), start, 1, limits, Beam(width=2, penalty=paper_penalty(0.6)), [NoRepeat(2)])[1]
assert sample(Constant(), start, 1, limits, Sampling(top_p=0.9), [1, 2])
"""


def test_decoding_with_numpy_imports_no_torch() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH], check=True)
