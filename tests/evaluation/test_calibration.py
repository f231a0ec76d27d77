"""A probability that can be believed: fitted, and measured on what it was not fitted on."""

import pytest
import torch

from qkv.evaluation.calibration import calibration_error, fit, held_out, tensors, told_apart


def made_up(count: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Truth: 2 - 3x + 0y."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 2, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 5.0]) + 2
    good = torch.rand(count, generator=generator, dtype=torch.float64) < (2 - 3 * (x[:, 0] - 2)).sigmoid()
    return x, good.double()


def test_the_fit_finds_what_the_data_were_made_with() -> None:
    learned = fit(*made_up(20_000))
    assert learned.weights[0] == pytest.approx(-3, abs=0.2)
    assert learned.weights[1] == pytest.approx(0, abs=0.02)
    assert learned.bias == pytest.approx(8, abs=0.5)


def test_held_out_probabilities_are_calibrated_and_others_are_not() -> None:
    x, good = made_up(5_000)
    believed = held_out(x, good)
    assert calibration_error(believed, good) < 0.03
    assert calibration_error(believed**3, good) > 0.1
    apart = told_apart(believed, good)
    assert apart is not None
    assert apart > 0.85


def test_noise_is_not_believed() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2_000, 3, generator=generator, dtype=torch.float64)
    good = (torch.rand(2_000, generator=generator) < 0.3).double()
    believed = held_out(x, good)
    assert believed.mean().item() == pytest.approx(0.3, abs=0.05)
    assert told_apart(believed, good) == pytest.approx(0.5, abs=0.06)


def test_where_nearly_all_are_good_their_share_is_all_that_is_said() -> None:
    x, good = tensors([[float(row), 1.0] for row in range(98)], [row != 5 for row in range(98)])
    learned = fit(x, good)
    assert learned.weights == (0.0, 0.0)
    assert learned(x)[0].item() == pytest.approx(0.98)
    assert told_apart(torch.ones(3), torch.ones(3)) is None


def test_the_error_is_what_was_said_less_what_came_true() -> None:
    said = torch.tensor([0.2] * 10 + [0.9] * 10, dtype=torch.float64)
    true = torch.tensor([1.0] * 2 + [0.0] * 8 + [1.0] * 5 + [0.0] * 5, dtype=torch.float64)
    assert calibration_error(said, true) == pytest.approx(0.2, abs=0.21)
    assert calibration_error(torch.ones(10), torch.ones(10)) == 0
    assert calibration_error(torch.ones(10), torch.zeros(10)) == 1
