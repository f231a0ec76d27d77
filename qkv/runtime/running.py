"""How a model runs: number format, device, threads, and which program computes it."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from qkv.environment import require_torch
from qkv.errors import check_rules

ComputeType = Literal["auto", "int8", "float32", "bf16"]
Warn = Callable[[str], None]
THREADS = "OMP_NUM_THREADS"  # torch and other libraries obey this variable too
MOST_THREADS = 64  # also on a machine with fewer cores: a script may come from a larger one


def silent(message: object = None) -> None:
    """Ignore a message or a count."""


def warn_in_python(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


@dataclass(frozen=True, kw_only=True)
class Running:
    """How to run a model.

    Example:
        >>> qkv.load("runs/gpt", qkv.Running(compute_type="float32", threads=1))
        LanguageModel(subwords, vocabulary 294, context 80)
    """

    compute_type: ComputeType = "auto"
    """Number format. auto: int8 on a CPU, which is the fastest, and float32 with torch. float32: exactly what was
    trained. bf16: needs torch."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "cpu"
    """Where to compute. Devices other than the CPU need torch. auto: the best that torch finds."""
    engine: Literal["auto", "torch"] = "auto"
    """auto: the compiled engine, or NumPy if that is unavailable. torch: the reference model."""
    threads: int | None = None
    """CPU cores to use; by default all."""

    def __post_init__(self) -> None:
        cores = max(MOST_THREADS, os.cpu_count() or 1)
        # More threads than the machine allows would kill the process without a message.
        check_rules(
            [
                ("threads", f"must be from 1 to {cores}", self.threads is None or 1 <= self.threads <= cores),
                (
                    "compute_type",
                    "int8 is for the CPU engine, not for torch",
                    not (self.needs_torch and self.compute_type == "int8"),
                ),
            ]
        )

    @property
    def needs_torch(self) -> bool:
        """Whether torch has to compute."""
        return self.engine == "torch" or self.device not in ("auto", "cpu") or self.compute_type == "bf16"

    @property
    def on_torch(self) -> bool:
        """Whether torch computes. An error if it must and is not installed."""
        if self.needs_torch:
            require_torch("this number format or device" if self.engine == "auto" else "the torch engine")
        return self.needs_torch

    @property
    def int8(self) -> bool:
        """Whether the engine computes in int8."""
        return self.compute_type in ("auto", "int8") and not self.needs_torch

    @property
    def thread_count(self) -> int:
        """The number of threads to use."""
        return self.threads or available_threads()

    def with_options(self, **options: Any) -> "Running":
        """The same with some fields replaced."""
        return replace(self, **options)


DEFAULT_RUNNING = Running()
EXACT = Running(compute_type="float32")  # the results of the model that was trained


def available_threads() -> int:
    """The cores that this process may use, or the number in OMP_NUM_THREADS."""
    given = os.environ.get(THREADS, "")
    if given.isdecimal() and int(given) > 0:
        return min(int(given), MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
