"""Linear layers in float32 and in the engine's int8 arithmetic, layer norms, and the weights they are made of."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qkv.engine.packing import check_finite
from qkv.engine.reference.functions import normed
from qkv.engine.rounding import Floats, heads_apart, rounded, rounded_rows, up_to_unit

Layer = Callable[[Floats], Floats]


class Linear:
    """x Wᵀ + b, for rows of any number of dimensions."""

    def __init__(self, weight: Floats, bias: Floats | None):
        self.weight, self.bias = weight, bias

    def __call__(self, x: Floats) -> Floats:
        # As one matrix: NumPy multiplies stacks of matrices one by one.
        y = x.reshape(-1, x.shape[-1]) @ self.weight.T
        if self.bias is not None:
            y += self.bias
        return y.reshape(*x.shape[:-1], -1)


class RoundedLinear:
    """The same in the engine's int8 arithmetic. The whole numbers are kept in float32, which NumPy multiplies fastest.

    Inputs that consist of several heads are padded per head before rounding, as in the engine's packed weights.
    """

    def __init__(self, weight: Floats, bias: Floats | None, heads: int = 1):
        self.heads = heads if weight.shape[1] // heads != up_to_unit(weight.shape[1] // heads) else 1
        apart = heads_apart(weight, self.heads)  # with one head this pads the inputs
        self.whole, self.scale = rounded(apart)
        self.sum = self.scale * self.whole.sum(1)
        self.bias = bias
        if self.heads == 1:
            self.whole = self.whole[:, : weight.shape[1]]

    def __call__(self, x: Floats) -> Floats:
        rows = x.reshape(-1, x.shape[-1])
        whole, step, low = rounded_rows(rows if self.heads == 1 else heads_apart(rows, self.heads))
        y = (whole @ self.whole.T) * (step * self.scale) + low * self.sum
        if self.bias is not None:
            y += self.bias
        return y.reshape(*x.shape[:-1], -1)


class Norm:
    """Layer norm."""

    def __init__(self, weight: Floats, bias: Floats, eps: float):
        self.weight, self.bias, self.eps = weight, bias, eps

    def __call__(self, x: Floats) -> Floats:
        return normed(x, self.weight, self.bias, self.eps)


class Weights:
    """The weights of a part of a model by name, and the layers made of them in one number format."""

    def __init__(self, arrays: Mapping[str, Any], *, int8: bool, prefix: str = ""):
        self.arrays, self.int8, self.prefix = arrays, int8, prefix

    def inside(self, name: str) -> "Weights":
        return Weights(self.arrays, int8=self.int8, prefix=f"{self.prefix}{name}.")

    def __getitem__(self, name: str) -> Floats:
        """In float32, without a copy if the file has float32 too."""
        return check_finite(np.ascontiguousarray(self.arrays[self.prefix + name], dtype=np.float32))

    def linear(self, name: str, *, heads: int = 1) -> Layer:
        return self.layer(self[f"{name}.weight"], self[f"{name}.bias"], heads=heads)

    def layer(self, weight: Floats, bias: Floats | None, *, heads: int = 1) -> Layer:
        return RoundedLinear(weight, bias, heads) if self.int8 else Linear(weight, bias)

    def norm(self, name: str, eps: float) -> Norm:
        return Norm(self[f"{name}.weight"], self[f"{name}.bias"], eps)


def look_up(table: Floats, ids: Any) -> Floats:
    """Rows of an embedding table. NumPy would read a negative id from the end.  (…) -> (…, D)"""
    which = np.asarray(ids)
    if which.size and (which.min() < 0 or which.max() >= len(table)):
        raise IndexError("an id is not in the vocabulary")
    return table[which]
