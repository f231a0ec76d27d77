"""Sampling: as often as the model says, only from what is allowed, and the same for the same seed."""

from collections import Counter

import numpy as np
import pytest
import torch
from tables import END, START, TableStep, in_both

from qkv.decoding.arrays import Arrays
from qkv.decoding.greedy import greedy
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.sampling import Draw, Sampling, narrowed, sample, uniform

VOCAB = 6
SENTENCES = list(range(20))
LIMITS = torch.tensor([1 + row % 7 for row in SENTENCES])
STARTS = torch.full((20,), START)


def drawn(sampling: Sampling, seeds: list[int], sentences: list[int] = SENTENCES) -> list[list[int]]:
    limits = LIMITS[torch.tensor(sentences)]

    def search(arrays: Arrays) -> list[list[Hypothesis]]:
        start, most = arrays.full((len(sentences),), START), arrays.asarray(limits)
        return [sample(TableStep(sentences, VOCAB), start, END, most, sampling, seeds)]

    (found,) = in_both(search)
    return [each.ids for each in found]


def left(probabilities: list[float], sampling: Sampling) -> list[int]:
    """The tokens that may be drawn, likeliest first."""
    weights, ids = narrowed(torch.tensor([probabilities]).log(), sampling)
    ids = torch.arange(len(probabilities)) if ids is None else ids[0]
    return sorted(ids[weights[0] > 0].tolist(), key=lambda token: -probabilities[token])


def test_words_come_as_often_as_they_are_likely() -> None:
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    rows = 20_000
    choose = Draw(Sampling(), list(range(rows)), torch.tensor([1]))
    found = Counter(choose(probabilities.log().expand(rows, -1), 0, torch.arange(rows)).tolist())
    for word, probability in enumerate(probabilities.tolist()):
        assert found[word] / rows == pytest.approx(probability, abs=0.012)


def test_a_temperature_is_a_power_of_the_probabilities() -> None:
    probabilities = torch.tensor([[0.6, 0.3, 0.1]])
    weights, _ = narrowed(probabilities.log(), Sampling(temperature=0.5))
    assert torch.allclose(weights / weights.sum(), probabilities**2 / (probabilities**2).sum())


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(top_k=2), [3, 1]),
        (Sampling(top_p=0.39), [3]),
        (Sampling(top_p=0.41), [3, 1]),
        (Sampling(top_p=0.71), [3, 1, 0]),
        (Sampling(min_p=0.74), [3, 1]),
        (Sampling(min_p=0.49), [3, 1, 0]),
        (Sampling(top_k=3, top_p=0.5), [3, 1]),
        (Sampling(), [3, 1, 0, 2]),
    ],
    ids=str,
)
def test_only_likely_words_are_left(sampling: Sampling, kept: list[int]) -> None:
    assert left([0.2, 0.3, 0.1, 0.4], sampling) == kept


def test_excluded_tokens_are_never_drawn() -> None:
    rows = 5_000
    choose = Draw(Sampling(top_p=0.5), list(range(rows)), torch.tensor([1]))
    scores = torch.tensor([0.2, 0.3, 0.1, 0.4]).log().expand(rows, -1)
    assert set(choose(scores, 0, torch.arange(rows)).tolist()) == {3, 1}


def test_the_same_seed_draws_the_same_and_another_something_else() -> None:
    seeds = [100 + row for row in SENTENCES]
    once = drawn(Sampling(), seeds)
    assert once == drawn(Sampling(), seeds)
    assert once != drawn(Sampling(), [seed + 1_000 for seed in seeds])


def test_a_long_text_is_drawn_from_the_same_numbers_whatever_its_limit() -> None:
    scores, row = torch.zeros(1, 1_000), torch.tensor([0])
    places = [0, 1, 1_023, 1_024, 3_000]
    short, long = (Draw(Sampling(), [7], torch.tensor([limit])) for limit in (3_001, 10**12))
    assert [int(long(scores, place, row)) for place in places] == [
        int(short(scores, place, row)) for place in places
    ]
    assert float(long.draw(row, 3_000)) == uniform(np.random.Philox(key=7), 3_001)[3_000]
    assert long.draws.shape[1] < 5_000  # only what was needed


@pytest.mark.parametrize("temperature", [1e-6, 1e6])
def test_extreme_temperatures_draw_only_allowed_tokens(temperature: float) -> None:
    scores = torch.tensor([[-80.0, -0.5, float("-inf"), -1.0]])
    weights, ids = narrowed(scores, Sampling(temperature=temperature, top_k=10**30))
    assert weights.isfinite().all()
    assert ids is not None
    assert ids[0][weights[0] > 0].tolist() == ([1] if temperature < 1 else [0, 1, 3])


def test_samples_do_not_depend_on_batch_neighbours() -> None:
    seeds = [100 + row for row in SENTENCES]
    together = drawn(Sampling(temperature=1.3), seeds)
    for sentence in SENTENCES:
        assert drawn(Sampling(temperature=1.3), [seeds[sentence]], [sentence]) == [together[sentence]]


def test_the_likeliest_word_alone_is_greedy_decoding() -> None:
    wanted = [each.ids for each in greedy(TableStep(SENTENCES, VOCAB), STARTS, END, LIMITS)]
    assert drawn(Sampling(top_k=1), SENTENCES) == wanted
    assert drawn(Sampling(top_p=1e-9), SENTENCES) == wanted
    assert drawn(Sampling(temperature=1e-4), SENTENCES) == wanted


def test_log_probabilities_are_those_of_the_model_and_not_of_the_narrowed_choice() -> None:
    (found,) = sample(TableStep([3], VOCAB), STARTS[:1], END, LIMITS[3:4], Sampling(top_k=1), [1])
    (wanted,) = greedy(TableStep([3], VOCAB), STARTS[:1], END, LIMITS[3:4])
    assert found.log_probabilities == wanted.log_probabilities


def test_top_p_is_as_fairseq_publishes_it() -> None:
    """Probabilities 0.4, 0.35 and 0.25: 0.2 leaves the first alone, 0.575 the first two."""
    assert left([0.25, 0.4, 0.35], Sampling(top_p=0.2)) == [1]
    assert left([0.25, 0.4, 0.35], Sampling(top_p=0.575)) == [1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"temperature": 1e40},
        {"temperature": 1e-40},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": 2.0},
    ],
    ids=str,
)
def test_invalid_sampling_options_raise_an_error(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Sampling(**wrong)  # type: ignore[arg-type]
