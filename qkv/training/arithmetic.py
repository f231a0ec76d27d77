"""What affects rounding besides the settings: compiled kernels, libraries, device and threads."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

import torch

from qkv.core.kernels import computed_by
from qkv.engine.library import NoEngineError
from qkv.engine.training import CompiledKernels
from qkv.training.device import choose_device, products_here
from qkv.training.extension import EXTENSIONS
from qkv.training.product import ProductType
from qkv.training.settings import TrainingSettings
from qkv.training.task import Task


def compiled_kernels(device: torch.device) -> AbstractContextManager[object]:
    """Compiled kernels, if they fit: they use one thread, as each process has if all cores share the batches."""
    return computed_by(kernels_on(device))


def kernels_on(device: torch.device) -> CompiledKernels | None:
    if device.type != "cpu" or torch.get_num_threads() > 1:
        return None
    with suppress(NoEngineError):
        return CompiledKernels()
    return None


def arithmetic_of(task: Task[ProductType]) -> dict[str, str]:
    """What affects rounding on this machine, besides the settings."""
    device = choose_device(task.settings.training)
    return {
        "torch": torch.__version__,
        "products": products_of(task.settings.training, device),
        "attention": "torch's own" if kernels_on(device) is None else "compiled",
        "device": device.type,
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
    }


def products_of(settings: TrainingSettings, device: torch.device) -> str:
    here = settings.precision != "int16" or products_here(settings, device) is not None
    return settings.precision if here else "float32"


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
