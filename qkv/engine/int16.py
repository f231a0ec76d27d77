"""Matrix products in 16-bit integers by the compiled library, for training on a CPU."""

import ctypes
import json
import math
import time
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from qkv.core.products import ByTorch, Products
from qkv.engine.library import NoEngineError, alone, cache_folder, library, library_key

FEWEST_ROWS = 48  # with fewer, rounding the weights costs more than the products save
TRIAL = (512, 512, 1024)  # rows, width and outputs of the timed product
ROUNDS = 12
GAIN = 1.15  # the least speed-up that justifies the rounding
DAY = 86_400  # seconds
YES_LASTS, NO_LASTS = 30 * DAY, DAY  # a "no" may come from a busy machine and costs more than a new trial
CLOSE = 2e-3  # relative error; rounding causes at most a third of it


class Int16:
    """The products of `qkv.core.products` in one thread. Raises NoEngineError if they are unavailable."""

    def __init__(self) -> None:
        self.library = library()
        if not self.library.qkv_has_int16():
            raise NoEngineError("this processor has neither AVX2 nor AVX-512 with VNNI")

    def fit(self, x: Tensor) -> bool:
        return x.device.type == "cpu" and x.dtype == torch.float32 and x.numel() >= FEWEST_ROWS * x.shape[-1]

    def prepared(self, matrix: Tensor) -> Tensor:
        return matrix.contiguous()

    def rows_with_rows(self, a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        sums = a.new_empty(len(a), len(b))
        self.multiply(a, True, b, True, sums, a.shape[1], add=False, bias=bias)
        return sums

    def rows_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        sums = a.new_empty(len(a), b.shape[1])
        self.multiply(a, True, b, False, sums, len(b), add=False)
        return sums

    def columns_with_columns(self, a: Tensor, b: Tensor) -> Tensor:
        sums = a.new_empty(a.shape[1], b.shape[1])
        self.multiply(a, False, b, False, sums, len(a), add=False)
        return sums

    def add_columns_with_columns(self, a: Tensor, b: Tensor, sums: Tensor) -> None:
        self.multiply(a, False, b, False, sums, len(a), add=True)

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
        hidden, weight, targets = hidden.contiguous(), weight.contiguous(), targets.contiguous()
        if targets.dtype != torch.int64 or not 0 <= int(targets.min()) <= int(targets.max()) < len(weight):
            raise ValueError("targets must be ids of the vocabulary")
        found = (torch.empty_like(hidden), torch.empty_like(weight)) if gradients else None
        by_hidden, by_weight = (None, None) if found is None else (each.data_ptr() for each in found)
        total = ctypes.c_double()
        self.library.qkv_output_loss(
            hidden.data_ptr(), weight.data_ptr(), targets.data_ptr(), len(hidden), *weight.shape,
            on_target, on_every, by_hidden, by_weight, ctypes.byref(total),
        )  # fmt: skip
        return total.value, found

    def orthogonalize(self, matrices: Tensor, coefficients: tuple[float, float, float], times: int) -> Tensor:
        found = matrices.clone(memory_format=torch.contiguous_format)
        self.library.qkv_orthogonalise(found.data_ptr(), *found.shape, *coefficients, times)
        return found

    def multiply(
        self,
        a: Tensor,
        a_along: bool,
        b: Tensor,
        b_along: bool,
        sums: Tensor,
        inner: int,
        *,
        add: bool,
        bias: Tensor | None = None,
    ) -> None:
        """`along`: the summed dimension lies in the rows of the matrix, not in its columns."""
        rows, columns = sums.shape
        wanted = (
            (rows, inner) if a_along else (inner, rows),
            (columns, inner) if b_along else (inner, columns),
        )
        if (a.shape, b.shape) != wanted or inner == 0:
            raise ValueError(f"{tuple(a.shape)} and {tuple(b.shape)} do not give {tuple(sums.shape)}")
        if bias is not None and (
            bias.shape != (columns,) or bias.dtype != torch.float32 or bias.stride(0) != 1
        ):
            raise ValueError(f"a bias of {tuple(bias.shape)} does not fit {columns} columns of float32")
        for matrix in (a, b, sums):
            in_rows = matrix.stride(1) == 1 or matrix.shape[1] == 1
            if matrix.device.type != "cpu" or matrix.dtype != torch.float32 or not in_rows:
                raise ValueError("products in 16 bits take rows of float32 on a CPU")
        self.library.qkv_multiply_int16(
            a.data_ptr(), a.stride(0), a_along, b.data_ptr(), b.stride(0), b_along,
            sums.data_ptr(), sums.stride(0), rows, columns, inner, add, None if bias is None else bias.data_ptr(),
        )  # fmt: skip


@cache
def int16_pays() -> bool:
    """Whether these products are correct and faster than torch's on this processor.

    The result of a trial is cached next to the library, so that all processes of a run agree. It expires.
    """
    try:
        products = Int16()
        path = cache_folder() / f"int16-{library_key()}-torch-{torch.__version__}.json"
        with alone(path.with_suffix(".lock")):
            found = known_gain(path, time.time())
            if found is None:
                found = gain(products)
                part = path.with_suffix(".part")
                part.write_text(json.dumps({"gain": found, "measured": time.time()}), encoding="utf-8")
                part.replace(path)
            return found >= GAIN
    except (NoEngineError, OSError):
        return False


def known_gain(path: Path, now: float) -> float | None:
    """The cached gain; None if it is missing, damaged, expired or dated in the future."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        found, age = float(kept["gain"]), now - float(kept["measured"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return found if 0 <= age < (YES_LASTS if found >= GAIN else NO_LASTS) else None


def gain(products: Int16) -> float:
    """The speed-up of the three products of a layer; 0 if one of them is wrong."""
    rows, width, outputs = TRIAL
    generator = torch.Generator().manual_seed(0)
    x, weight, by_y = (
        torch.randn(shape, generator=generator)
        for shape in ((rows, width), (outputs, width), (rows, outputs))
    )
    found = three_products(products, x, weight, by_y)
    wanted = [x @ weight.T, by_y @ weight, by_y.T @ x]
    if any((mine - right).norm() > CLOSE * right.norm() for mine, right in zip(found, wanted, strict=True)):
        return 0.0
    best, torchs = math.inf, math.inf
    for _ in range(ROUNDS):  # alternate, and keep the shortest time of each
        best = min(best, seconds_of(products, x, weight, by_y))
        torchs = min(torchs, seconds_of(ByTorch(x.dtype, x.dtype), x, weight, by_y))
    return torchs / best


def three_products(products: Products, x: Tensor, weight: Tensor, by_y: Tensor) -> list[Tensor]:
    return [
        products.rows_with_rows(x, weight),
        products.rows_with_columns(by_y, weight),
        products.columns_with_columns(by_y, x),
    ]


def seconds_of(products: Products, x: Tensor, weight: Tensor, by_y: Tensor) -> float:
    """CPU time, so that other programs do not count."""
    began = time.process_time()
    three_products(products, x, weight, by_y)
    return max(1e-9, time.process_time() - began)
