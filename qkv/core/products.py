"""Backends of matrix products in training: torch, or a faster one that rounds its inputs.

A linear layer takes three products, one forward and two backward. They differ in the dimension that is summed over:
rows of both matrices, rows of one and columns of the other, or columns of both.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Products(Protocol):
    def fit(self, x: Tensor) -> bool:
        """Whether the backend supports this input and is faster for it."""

    def prepared(self, matrix: Tensor) -> Tensor:
        """The matrix in the backend's format; a matrix that is used twice is prepared once."""

    def rows_with_rows(self, a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        """a bᵀ of (N, K) and (M, K), plus a bias of (M)."""

    def rows_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        """a b of (N, K) and (K, M)."""

    def columns_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        """aᵀ b of (K, N) and (K, M)."""

    def add_columns_with_columns(self, a: Tensor, b: Tensor, sums: Tensor) -> None:
        """Add aᵀ b to sums."""


@runtime_checkable
class FusedProducts(Products, Protocol):
    """Products that also compute, without a return to Python, what is made of many products."""

    def output_loss(
        self,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        on_target: float,
        on_every: float,
        *,
        gradients: bool,
    ) -> tuple[float, tuple[Tensor, Tensor] | None]:
        """Sum of the log-normalizers, and the gradients of the mean loss by hidden and weight; see `qkv.core.loss`."""

    def orthogonalize(self, matrices: Tensor, coefficients: tuple[float, float, float], times: int) -> Tensor:
        """Divide each of (N, rows, columns) by its norm, then apply the odd polynomial of degree five repeatedly."""


class ByTorch:
    """torch, with inputs converted to `kind` and results to `result`."""

    def __init__(self, kind: torch.dtype, result: torch.dtype):
        self.kind, self.result = kind, result

    def fit(self, x: Tensor) -> bool:
        return True

    def prepared(self, matrix: Tensor) -> Tensor:
        return matrix.to(self.kind)

    def rows_with_rows(self, a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        result = (a @ b.T).to(self.result)
        return result if bias is None else result.add_(bias)

    def rows_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        return (a @ b).to(self.result)

    def columns_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        return (a.T @ b).to(self.result)

    def add_columns_with_columns(self, a: Tensor, b: Tensor, sums: Tensor) -> None:
        if self.kind == self.result:
            sums.addmm_(a.T, b)
        else:
            sums += a.T @ b


active: Products | None = None  # inside `multiplied_by`


@contextmanager
def multiplied_by(products: Products) -> Iterator[None]:
    """Inside this context, linear layers and the output layer's loss use these products, forward and backward."""
    global active
    before, active = active, products
    try:
        yield
    finally:
        active = before


def products_for(x: Tensor) -> Products | None:
    """The active backend, if it supports this input."""
    return active if active is not None and active.fit(x) else None


def through(layer: nn.Linear, x: Tensor) -> Tensor:
    """Apply a linear layer with the active backend."""
    products = products_for(x)
    y: Tensor = (
        layer(x) if products is None else LinearByProducts.apply(x, layer.weight, layer.bias, products)  # type: ignore[no-untyped-call]
    )
    return y


def through_all(layers: Sequence[nn.Linear], x: Tensor) -> Sequence[Tensor]:
    """Apply several linear layers to one input: with the active backend, as one product."""
    products = products_for(x)
    if products is None:
        return [layer(x) for layer in layers]
    weight, bias = (torch.cat([getattr(layer, name) for layer in layers]) for name in ("weight", "bias"))
    y: Tensor = LinearByProducts.apply(x, weight, bias, products)  # type: ignore[no-untyped-call]
    return y.split([layer.out_features for layer in layers], dim=-1)


class LinearByProducts(torch.autograd.Function):
    """y = x Wᵀ + b. The bias may be None."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, products: Products) -> Tensor:
        rows, weight = products.prepared(x.flatten(0, -2)), products.prepared(weight)  # (N, D), (F, D)
        ctx.save_for_backward(rows, weight)
        ctx.products = products
        y = products.rows_with_rows(rows, weight, bias)  # (N, F)
        return y.unflatten(0, x.shape[:-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        rows, weight = ctx.saved_tensors
        products: Products = ctx.products
        by_y = products.prepared(upstream.flatten(0, -2))  # (N, F)
        by_x = by_weight = by_bias = None
        if ctx.needs_input_grad[0]:
            by_x = products.rows_with_columns(by_y, weight).unflatten(0, upstream.shape[:-1])
        if ctx.needs_input_grad[1]:
            by_weight = products.columns_with_columns(by_y, rows)
        if ctx.needs_input_grad[2]:
            by_bias = by_y.sum(dim=0)
        return by_x, by_weight, by_bias, None
