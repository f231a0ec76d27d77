"""What affects rounding besides the settings: compiled loops, libraries, device and threads."""

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from qkv.core.attention import compiled_loops
from qkv.training.device import choose_device, products_here
from qkv.training.extension import EXTENSIONS
from qkv.training.product import ProductType
from qkv.training.settings import TrainingSettings
from qkv.training.task import Task

LONG_STEPS, LONG_MINUTES, NARROW = (
    500,
    2,
    256,
)  # compiling loops takes seconds, which pays off in a longer run


def attention_loops(task: Task[ProductType], device: torch.device) -> AbstractContextManager[object]:
    """Compiled loops for attention, if they are faster: they use one thread, and compiling takes as long as many steps.

    In a wide model attention is a small part of the work.
    """
    return compiled_loops() if loops_pay(task, device) else nullcontext()


def loops_pay(task: Task[ProductType], device: torch.device) -> bool:
    settings = task.settings
    long = (settings.steps or math.inf) >= LONG_STEPS and (settings.minutes or math.inf) >= LONG_MINUTES
    fits = device.type == "cpu" and torch.get_num_threads() == 1 and task.width <= NARROW
    return long and fits


def arithmetic_of(task: Task[ProductType]) -> dict[str, str]:
    """What affects rounding on this machine, besides the settings."""
    device = choose_device(task.settings.training)
    loops = (
        f"loops of Numba {installed_version('numba')}"
        if loops_pay(task, device) and installed_version("numba")
        else ""
    )
    return {
        "torch": torch.__version__,
        "products": products_of(task.settings.training, device),
        "attention": loops or "torch's own",
        "device": device.type,
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
    }


def products_of(settings: TrainingSettings, device: torch.device) -> str:
    here = settings.precision != "int16" or products_here(settings, device) is not None
    return settings.precision if here else "float32"


def installed_version(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def arithmetic_changes(stored: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """A warning if this machine rounds differently from the one that started or extended the run."""
    before = (stored.get(EXTENSIONS) or [stored])[-1].get("arithmetic", now)
    changed = [
        f"{name} {before[name]}, now {value}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]
    if not changed:
        return []
    return [
        f"this run was started with {' and '.join(changed)}. From here on its numbers may differ from those of an "
        "uninterrupted run."
    ]
