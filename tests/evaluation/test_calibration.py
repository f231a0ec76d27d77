"""A probability that can be believed: fitted, and measured on what it was not fitted on."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from qkv.evaluation.calibration import (
    Examples,
    auc,
    brier_score,
    calibrate,
    calibration_error,
    fit,
    held_out_best,
    share_of,
)


def made_up(count: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Truth: 2 - 3x + 0y."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 2, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 5.0]) + 2
    good = torch.rand(count, generator=generator, dtype=torch.float64) < (2 - 3 * (x[:, 0] - 2)).sigmoid()
    return x, good.double()


def best_only(features: Tensor, good: Tensor) -> Examples:
    count = len(good)
    return Examples(
        features=features,
        good=good,
        sentence=torch.arange(count),
        best=torch.ones(count, dtype=torch.bool),
    )


def hypotheses(sentences: int, quality: float, seed: int = 4) -> Examples:
    """Three hypotheses for each sentence, the first of them the best; what is good has a high mean log-probability."""
    generator = torch.Generator().manual_seed(seed)
    best = torch.tensor([True, False, False]).repeat(sentences)
    centre = torch.tensor([quality, quality - 2.0, quality - 4.0], dtype=torch.float64).repeat(sentences)
    mean = centre + torch.randn(3 * sentences, generator=generator, dtype=torch.float64)
    least = mean + torch.randn(3 * sentences, generator=generator, dtype=torch.float64)
    good = torch.rand(3 * sentences, generator=generator, dtype=torch.float64) < (2 * mean).sigmoid()
    return Examples(
        features=torch.stack([mean, least], 1),
        good=good.double(),
        sentence=torch.arange(sentences).repeat_interleave(3),
        best=best,
    )


def test_the_fit_recovers_the_parameters_that_generated_the_data() -> None:
    learned = fit(*made_up(20_000))
    assert learned.weights[0] == pytest.approx(-3, abs=0.2)
    assert learned.weights[1] == pytest.approx(0, abs=0.02)
    assert learned.bias == pytest.approx(8, abs=0.5)


def test_held_out_probabilities_are_calibrated_and_others_are_not() -> None:
    x, good = made_up(5_000)
    believed = held_out_best(best_only(x, good), rising=())
    assert calibration_error(believed, good) < 0.03
    assert calibration_error(believed**3, good) > 0.1
    apart = auc(believed, good)
    assert apart is not None
    assert apart > 0.85


def test_noise_gets_no_weight() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2_000, 3, generator=generator, dtype=torch.float64)
    good = (torch.rand(2_000, generator=generator) < 0.3).double()
    believed = held_out_best(best_only(x, good), rising=())
    assert believed.mean().item() == pytest.approx(0.3, abs=0.05)
    assert auc(believed, good) == pytest.approx(0.5, abs=0.06)


def test_if_nearly_all_are_good_the_confidence_is_their_share() -> None:
    x = torch.tensor([[float(row), 1.0] for row in range(98)], dtype=torch.float64)
    good = torch.tensor([row != 5 for row in range(98)], dtype=torch.float64)
    learned = fit(x, good)
    assert learned.weights == (0.0, 0.0)
    assert learned(x)[0].item() == pytest.approx(0.98)
    assert auc(torch.ones(3), torch.ones(3)) is None


def test_the_calibration_error_compares_confidence_with_accuracy() -> None:
    said = torch.tensor([0.2] * 10 + [0.9] * 10, dtype=torch.float64)
    true = torch.tensor([1.0] * 2 + [0.0] * 8 + [1.0] * 5 + [0.0] * 5, dtype=torch.float64)
    assert calibration_error(said, true) == pytest.approx(0.2, abs=0.21)
    assert calibration_error(torch.ones(10), torch.ones(10)) == 0
    assert calibration_error(torch.ones(10), torch.zeros(10)) == 1


@pytest.mark.parametrize("quality", [-4.0, 0.0, 4.0])
def test_no_probability_is_beyond_what_the_sentences_support(quality: float) -> None:
    learned = calibrate(hypotheses(100, quality), rising=(0, 1))
    extreme = learned(torch.tensor([[-1e6, -1e6], [1e6, 1e6]], dtype=torch.float64))
    assert extreme.min().item() >= 1 / 102
    assert extreme.max().item() <= 101 / 102


def test_a_likelier_hypothesis_never_gets_a_lower_confidence() -> None:
    """Even if one feature of the validation set suggests it."""
    examples = hypotheses(100, 0.0)
    examples = replace(examples, features=examples.features * torch.tensor([1.0, -1.0]))
    assert fit(examples.features, examples.good).weights[1] < 0
    learned = calibrate(examples, rising=(0, 1))
    for feature in range(2):
        moved = torch.zeros(50, 2, dtype=torch.float64)
        moved[:, feature] = torch.linspace(-9, 9, 50, dtype=torch.float64)
        assert bool((learned(moved).diff() >= 0).all())
    assert learned.weights[0] > 0


def test_worse_hypotheses_calibrate_a_model_whose_best_ones_are_nearly_all_good() -> None:
    examples = hypotheses(300, 3.0)
    best = examples.where(examples.best)
    assert best.good.mean().item() > 0.95
    likely, unlikely = calibrate(examples, rising=(0, 1))(
        torch.tensor([[3.0, 3.0], [-3.0, -3.0]], dtype=torch.float64)
    ).tolist()
    assert likely > 0.95
    assert unlikely < 0.2
    assert calibrate(examples, rising=(0, 1))(best.features).mean().item() == pytest.approx(
        best.good.mean().item(), abs=0.01
    )


@pytest.mark.parametrize("quality", [-1.0, 0.0, 1.0])
def test_the_brier_score_on_other_sentences_is_better_than_that_of_a_constant(quality: float) -> None:
    examples = hypotheses(300, quality)
    good = examples.good[examples.best]
    believed = held_out_best(examples, rising=(0, 1))
    constant = torch.full_like(good, share_of(good))
    assert brier_score(believed, good) < 0.9 * brier_score(constant, good)
    assert calibration_error(believed, good) < 0.1
