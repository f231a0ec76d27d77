"""The loss computed in chunks equals torch's, in value and gradient."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from qkv.core.loss import ROWS_AT_ONCE, exponentials_are_safe, output_cross_entropy

D, V = 12, 29


def problem(rows: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    hidden = torch.randn(rows, D, generator=generator, requires_grad=True)
    weight = torch.randn(V, D, generator=generator, requires_grad=True)
    return hidden, weight, torch.randint(V, (rows,), generator=generator)


def torch_loss(hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(hidden @ weight.T, targets, label_smoothing=smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    "rows", [1, 5, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE + 7]
)
def test_value_and_gradients_equal_torchs(rows: int, smoothing: float) -> None:
    hidden, weight, targets = problem(rows)
    ours, theirs = (loss(hidden, weight, targets, smoothing) for loss in (output_cross_entropy, torch_loss))
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        torch.autograd.grad(ours * 3, [hidden, weight]),  # × 3: the gradient from above counts too
        torch.autograd.grad(theirs * 3, [hidden, weight]),
        atol=1e-5,
        rtol=1e-4,
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_where_logits_are_large_value_and_gradients_equal_torchs_too(smoothing: float) -> None:
    hidden, weight, targets = problem(ROWS_AT_ONCE + 7)
    assert exponentials_are_safe(hidden, weight)
    large = (hidden * 30).detach().requires_grad_()
    assert not exponentials_are_safe(large, weight)
    ours, theirs = (loss(large, weight, targets, smoothing) for loss in (output_cross_entropy, torch_loss))
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        torch.autograd.grad(ours, [large, weight]),
        torch.autograd.grad(theirs, [large, weight]),
        atol=1e-4,
        rtol=1e-4,
    )


def test_gradients_equal_the_slope_measured_by_small_steps() -> None:
    hidden, weight, targets = problem(7)
    doubles = [tensor.detach().double().requires_grad_() for tensor in (hidden, weight)]
    assert torch.autograd.gradcheck(lambda h, w: output_cross_entropy(h, w, targets, 0.1), doubles)


@pytest.mark.parametrize("rows", [5, ROWS_AT_ONCE + 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_value_is_the_same_where_no_gradient_is_wanted(rows: int, smoothing: float) -> None:
    hidden, weight, targets = problem(rows)
    with torch.no_grad():
        ours = output_cross_entropy(hidden, weight, targets, smoothing)
        torch.testing.assert_close(ours, torch_loss(hidden, weight, targets, smoothing), atol=1e-5, rtol=1e-5)
    assert not ours.requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_computed_where_none_is_wanted(mode: type) -> None:
    """Validation would otherwise cost three matrix products for one."""
    one_product = 2 * 5 * D * V
    with FlopCounterMode(display=False) as training:
        output_cross_entropy(*problem(5), 0.1)
    with mode(), FlopCounterMode(display=False) as validation:
        output_cross_entropy(*problem(5), 0.1)
    assert training.get_total_flops() > one_product  # the counter misses products written in place
    assert validation.get_total_flops() == one_product


@pytest.mark.parametrize("frozen", [0, 1])
def test_one_of_the_two_may_be_frozen(frozen: int) -> None:
    inputs = problem(5)
    free = inputs[1 - frozen]
    inputs[frozen].requires_grad_(False)
    (ours,) = torch.autograd.grad(output_cross_entropy(*inputs, 0.1), free)
    (theirs,) = torch.autograd.grad(torch_loss(*inputs, 0.1), free)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_inputs_are_left_as_they_were() -> None:
    hidden, weight, targets = problem(5)
    before = [tensor.detach().clone() for tensor in (hidden, weight, targets)]
    output_cross_entropy(hidden, weight, targets, 0.1).backward()
    assert all(
        torch.equal(tensor, kept) for tensor, kept in zip((hidden, weight, targets), before, strict=True)
    )


def test_very_large_logits_stay_finite() -> None:
    hidden, weight, targets = problem(5)
    loss = output_cross_entropy(hidden * 1e4, weight, targets, 0.1)
    loss.backward()
    assert loss.isfinite()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()


def test_a_perfect_prediction_has_zero_loss_only_without_label_smoothing() -> None:
    hidden, targets = torch.eye(V)[:5] * 100, torch.arange(5)
    assert output_cross_entropy(hidden, torch.eye(V), targets, 0.0) < 1e-6
    assert output_cross_entropy(hidden, torch.eye(V), targets, 0.1) > 1


def test_no_target_at_all_is_rejected() -> None:
    with pytest.raises(ValueError, match="no target"):
        output_cross_entropy(torch.empty(0, D), torch.ones(V, D), torch.empty(0, dtype=torch.long), 0.0)


def test_within_autocast_products_are_narrow_and_value_and_gradients_stay_near() -> None:
    hidden, weight, targets = problem(40)
    exact = output_cross_entropy(hidden, weight, targets, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = output_cross_entropy(hidden.bfloat16(), weight, targets, 0.1)
    assert narrow.dtype == torch.float32
    assert narrow != exact
    torch.testing.assert_close(narrow, exact, rtol=1e-2, atol=0)
    for ours, theirs in zip(
        torch.autograd.grad(narrow, [hidden, weight]),
        torch.autograd.grad(exact, [hidden, weight]),
        strict=True,
    ):
        assert (ours - theirs).norm() < 0.02 * theirs.norm()
