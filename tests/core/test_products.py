"""Whoever multiplies, a linear layer and the loss of the output layer are what torch makes of them."""

import pytest
import torch
from torch import Tensor, nn

from qkv.core.loss import output_cross_entropy
from qkv.core.products import ByTorch, multiplied_by, products_for, through


class Counting(ByTorch):
    """In float64, so that it is seen that it was used."""

    def __init__(self, fits: bool = True) -> None:
        super().__init__(torch.float64, torch.float32)
        self.fits, self.used = fits, 0

    def fit(self, x: Tensor) -> bool:
        return self.fits

    def prepared(self, matrix: Tensor) -> Tensor:
        self.used += 1
        return super().prepared(matrix)


def layer_and_gradients(layer: nn.Linear, x: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    layer.zero_grad()
    y = through(layer, x)
    y.sin().sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is not None
    assert layer.bias.grad is not None
    return [y.detach(), x.grad, layer.weight.grad.clone(), layer.bias.grad.clone()]


def test_a_linear_layer_and_its_gradients_are_those_of_torch() -> None:
    torch.manual_seed(1)
    layer, x = nn.Linear(7, 11), torch.randn(2, 5, 7)
    wanted, other = layer_and_gradients(layer, x), Counting()
    with multiplied_by(other):
        found = layer_and_gradients(layer, x)
    assert other.used == 3  # rows and weights forward, the gradient backward
    for mine, torchs in zip(found, wanted, strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, torchs)


def test_only_the_gradients_that_are_wanted_are_computed() -> None:
    layer, x = nn.Linear(7, 11), torch.randn(3, 7)
    layer.weight.requires_grad_(False)
    with multiplied_by(Counting()):
        through(layer, x).sum().backward()
    assert layer.weight.grad is None
    assert layer.bias.grad is not None


def test_the_loss_of_the_output_layer_and_its_gradients_are_those_of_torch() -> None:
    torch.manual_seed(2)
    hidden, weight = torch.randn(700, 5, requires_grad=True), torch.randn(13, 5, requires_grad=True)
    targets = torch.randint(0, 13, (700,))

    def loss_and_gradients() -> list[Tensor]:
        loss = output_cross_entropy(hidden, weight, targets, 0.1)
        return [loss, *torch.autograd.grad(loss, (hidden, weight))]

    wanted, other = loss_and_gradients(), Counting()
    with multiplied_by(other):
        found = loss_and_gradients()
    assert other.used > 0
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("fits", [True, False])
def test_products_are_used_while_they_are_asked_for_and_where_they_fit(fits: bool) -> None:
    layer, x, inner, outer = nn.Linear(7, 11), torch.randn(3, 7), Counting(fits), Counting()
    with multiplied_by(outer):
        with multiplied_by(inner):
            through(layer, x)
        assert (inner.used > 0) == fits
        assert outer.used == 0
        through(layer, x)
        assert outer.used == 2
    through(layer, x)
    assert outer.used == 2


def test_after_an_error_the_backend_is_no_longer_used() -> None:
    with pytest.raises(RuntimeError), multiplied_by(Counting()):
        through(nn.Linear(7, 11), torch.randn(3, 8))
    assert products_for(torch.randn(3, 7)) is None
