"""What decoding needs of an array library: NumPy for engines, torch on any device for torch models.

This is our own dispatch because importing array-api-compat takes as long as importing NumPy (0.1 s), and the standard
lacks top-k, log-softmax and assignment by index. Operators, indexing, `reshape`, `sum`, `any`, `all`, `argmax`, `clip`
and `tolist` mean the same in both libraries and need no dispatch.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""numpy.ndarray or torch.Tensor. No type covers both without importing torch."""
LOWEST = float(np.finfo(np.float32).min)  # below it is only minus infinity
AT_ONCE = 65_536  # numbers of a log-softmax that stay in the processor's cache
GROUP = 64  # numbers that share a maximum in `top_k`


class Arrays(Protocol):
    """The functions that NumPy and torch call differently, on one device."""

    def asarray(
        self, values: Any
    ) -> Array: ...  # a list or an array of either library; no copy if it is here

    def full(self, shape: tuple[int, ...], value: int) -> Array: ...  # int64

    def zeros(self, shape: tuple[int, ...]) -> Array: ...  # float32

    def arange(self, count: int) -> Array: ...

    def empty_like(self, x: Array) -> Array: ...

    def where(self, condition: Array, x: Any, y: Any) -> Array: ...

    def concat(self, parts: Sequence[Array], axis: int) -> Array: ...

    def stack(self, parts: Sequence[Array]) -> Array: ...

    def nonzero(self, condition: Array) -> tuple[Array, ...]: ...  # one array of indices per axis

    def repeat(self, x: Array, count: int) -> Array: ...  # (N) -> (N·count)

    def argsort(self, x: Array) -> Array: ...  # stable, along the last axis

    def maximum(self, x: Array) -> Array: ...  # along the last axis, which stays

    def exp(self, x: Array) -> Array: ...

    def log(self, x: Array) -> Array: ...

    def cumulative_sum(self, x: Array) -> Array: ...  # along the last axis, in float64 if the device has it

    def log_softmax(self, x: Array) -> Array: ...  # of (N, V) in float32; may overwrite x

    def log_sum_exp(self, x: Array, axis: int) -> Array: ...

    def top_k(self, x: Array, count: int) -> tuple[Array, Array]:
        """The largest numbers of each row of (N, V) and their indices, largest first; of equals the lowest index.

        A row with fewer numbers above minus infinity is filled with minus infinity at any index.
        """
        ...

    def inference(self) -> AbstractContextManager[Any]: ...  # records no gradients


def arrays_for(device: Any) -> Arrays:
    """The arrays on a device: None for NumPy, otherwise a device of torch."""
    return NUMPY if device is None else torch_arrays(device)


def arrays_of(x: Array) -> Arrays:
    """The arrays that this one belongs to."""
    return NUMPY if isinstance(x, np.ndarray) else torch_arrays(x.device)


def to_numpy(values: Any) -> Array:
    """A list or an array of either library in NumPy."""
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)


def is_finite(x: Array) -> Array:
    return abs(x) < float("inf")


class NumpyArrays:
    def asarray(self, values: Any) -> Array:
        found = np.asarray(values)
        return found.astype(np.int64) if found.size == 0 and found.dtype == np.float64 else found

    def full(self, shape: tuple[int, ...], value: int) -> Array:
        return np.full(shape, value, np.int64)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return np.zeros(shape, np.float32)

    def arange(self, count: int) -> Array:
        return np.arange(count)

    def empty_like(self, x: Array) -> Array:
        return np.empty_like(x)

    def where(self, condition: Array, x: Any, y: Any) -> Array:
        return np.where(condition, x, y)

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        return np.concatenate(parts, axis)

    def stack(self, parts: Sequence[Array]) -> Array:
        return np.stack(parts)

    def nonzero(self, condition: Array) -> tuple[Array, ...]:
        return condition.nonzero()

    def repeat(self, x: Array, count: int) -> Array:
        return x.repeat(count)

    def argsort(self, x: Array) -> Array:
        return x.argsort(axis=-1, kind="stable")

    def maximum(self, x: Array) -> Array:
        return x.max(axis=-1, keepdims=True)

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def log(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):  # the logarithm of 0 is meant
            return np.log(x)

    def cumulative_sum(self, x: Array) -> Array:
        return x.cumsum(axis=-1, dtype=np.float64)

    def log_softmax(self, x: Array) -> Array:
        x = x if x.dtype == np.float32 and x.flags.writeable else x.astype(np.float32)
        at_once = max(1, AT_ONCE // x.shape[1])
        scratch = np.empty((min(at_once, len(x)), x.shape[1]), np.float32)
        with np.errstate(invalid="ignore"):  # broken weights give NaN, which the caller reports
            for first in range(0, len(x), at_once):
                part = x[first : first + at_once]
                part -= part.max(axis=-1, keepdims=True)
                part -= np.log(np.exp(part, out=scratch[: len(part)]).sum(axis=-1, keepdims=True))
        return x

    def log_sum_exp(self, x: Array, axis: int) -> Array:
        largest = np.maximum(x.max(axis=axis, keepdims=True), LOWEST)  # minus infinity minus itself is NaN
        with np.errstate(divide="ignore", over="ignore"):
            total = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
        return total.squeeze(axis)

    def top_k(self, x: Array, count: int) -> tuple[Array, Array]:
        rows, width = x.shape
        if 2 * count > width:
            order = (-x).argsort(axis=-1, kind="stable")[:, :count]
            return x[np.arange(rows)[:, None], order], order
        flat = np.flatnonzero(x >= self.lower_bound(x, count))  # about `count` candidates per row
        row = flat // width
        found = np.bincount(row, minlength=rows)
        column = np.arange(len(flat)) - (found.cumsum() - found)[row]
        values = np.full((rows, max(count, found.max())), -np.inf, x.dtype)
        index = np.zeros(values.shape, np.int64)
        values[row, column], index[row, column] = x.reshape(-1)[flat], flat - row * width
        line, order = np.arange(rows)[:, None], (-values).argsort(axis=-1, kind="stable")[:, :count]
        return values[line, order], index[line, order]

    def lower_bound(self, x: Array, count: int) -> Array:
        """A number that at least `count` entries of each row reach, if that many are finite. (N, 1)

        Rows are divided into groups. The maxima of `count` groups are `count` numbers of the row, and maxima of groups
        are found faster than the largest numbers of the row.
        """
        rows, width = x.shape
        size = min(GROUP, width // (4 * count))
        if size > 1:
            groups = width // size
            x = x[:, : size * groups].reshape(rows, size, groups).max(axis=1)
        bound = np.partition(x, x.shape[1] - count, axis=1)[:, x.shape[1] - count, None]
        return np.fmax(bound, x.dtype.type(LOWEST))

    def inference(self) -> AbstractContextManager[Any]:
        return nullcontext()


NUMPY = NumpyArrays()


class TorchArrays:
    """`torch` is an attribute: importing decoding must not import it."""

    def __init__(self, device: Any):
        import torch

        self.torch, self.device = torch, torch.device(device)

    def asarray(self, values: Any) -> Array:
        if isinstance(values, self.torch.Tensor):
            return values.to(self.device)
        found = NUMPY.asarray(values)
        if found.dtype == np.float64 and self.device.type == "mps":  # it has no float64
            found = found.astype(np.float32)
        return self.torch.tensor(found, device=self.device)

    def full(self, shape: tuple[int, ...], value: int) -> Array:
        return self.torch.full(shape, value, dtype=self.torch.int64, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return self.torch.zeros(shape, dtype=self.torch.float32, device=self.device)

    def arange(self, count: int) -> Array:
        return self.torch.arange(count, device=self.device)

    def empty_like(self, x: Array) -> Array:
        return self.torch.empty_like(x)

    def where(self, condition: Array, x: Any, y: Any) -> Array:
        return self.torch.where(condition, x, y)

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        return self.torch.cat(list(parts), axis)

    def stack(self, parts: Sequence[Array]) -> Array:
        return self.torch.stack(list(parts))

    def nonzero(self, condition: Array) -> tuple[Array, ...]:
        return condition.nonzero(as_tuple=True)

    def repeat(self, x: Array, count: int) -> Array:
        return x.repeat_interleave(count)

    def argsort(self, x: Array) -> Array:
        return x.argsort(dim=-1, stable=True)

    def maximum(self, x: Array) -> Array:
        return x.amax(-1, keepdim=True)

    def exp(self, x: Array) -> Array:
        return x.exp()

    def log(self, x: Array) -> Array:
        return x.log()

    def cumulative_sum(self, x: Array) -> Array:
        return x.cumsum(-1, dtype=None if self.device.type == "mps" else self.torch.float64)

    def log_softmax(self, x: Array) -> Array:
        return x.float().log_softmax(-1)

    def log_sum_exp(self, x: Array, axis: int) -> Array:
        return x.logsumexp(axis)

    def top_k(self, x: Array, count: int) -> tuple[Array, Array]:
        values, index = x.topk(count)
        reached = x >= values[:, -1:].clamp(min=LOWEST)  # the order of minus infinities does not matter
        if int(reached.sum()) > int((values >= LOWEST).sum()):  # which of several equals came in is undefined
            values, index = x.sort(dim=-1, descending=True, stable=True)
            return values[:, :count], index[:, :count]
        # Equals among the chosen: by index, then stably by value.
        index = index.sort(dim=-1).values
        values, order = x.gather(1, index).sort(dim=-1, descending=True, stable=True)
        return values, index.gather(1, order)

    def inference(self) -> AbstractContextManager[Any]:
        return self.torch.inference_mode()


@cache
def torch_arrays(device: Any) -> Arrays:
    return TorchArrays(device)
