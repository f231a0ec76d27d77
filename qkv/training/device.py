"""The device that trains a model, and the number format of its matrix products."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, TypeVar

import torch

from qkv.engine.int16 import Int16, int16_pays
from qkv.engine.library import NoEngineError
from qkv.errors import OptionError, QkvError
from qkv.training.distributed import Group, SingleProcess
from qkv.training.settings import Precision, RunSettings, TrainingSettings

Settings = TypeVar("Settings", bound=RunSettings)
Narrow = Literal["bf16", "int16"]

# From these widths on, products in a narrow format save more time than the conversion costs.
WIDE_FOR_BF16, WIDE_FOR_INT16 = 512, 128


def choose_device(training: TrainingSettings) -> torch.device:
    """The device that the settings name, or the best one that torch finds."""
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    wanted = next(name for name in found if found[name]) if training.device == "auto" else training.device
    if not found[wanted]:
        raise OptionError(("device", f"{wanted} is not available: torch does not find it on this machine"))
    own = int(os.environ.get("LOCAL_RANK", "0"))  # set by torchrun
    return torch.device("cuda", own) if wanted == "cuda" else torch.device(wanted)


def with_precision(
    settings: Settings,
    width: int,
    device: torch.device,
    group: Group | None = None,
    of: Sequence[Narrow] = ("int16", "bf16"),
) -> Settings:
    """The settings with `auto` replaced. The run keeps the result, so that it resumes the same way on another machine.

    It is the first format in `of` that is faster for all processes of the group. With vector instructions int16 is faster
    than bf16 and more exact; matrix units (AMX) support bf16 only.
    """
    wanted = settings.training.precision
    if wanted != "auto":
        if wanted != "float32" and wanted not in of:
            raise QkvError(
                f"precision {wanted} does not suit this model. Choose {' or '.join(of)}, or float32."
            )
        return settings
    by_matrices = width >= WIDE_FOR_BF16 and bool(processor_features().get("amx_bf16"))
    pays: dict[Narrow, Callable[[], bool]] = {
        "int16": lambda: width >= WIDE_FOR_INT16 and not by_matrices and multiplies_int16(device),
        "bf16": lambda: width >= WIDE_FOR_BF16 and multiplies_bf16(device),
    }
    group = group or SingleProcess()
    votes = group.agree(*(float(pays[kind]()) for kind in of))
    chosen = [kind for kind, count in zip(of, votes, strict=True) if count == group.size]
    precision: Precision = chosen[0] if chosen else "float32"
    return replace(settings, training=replace(settings.training, precision=precision))


def kinds_for(recurrent: bool) -> tuple[Narrow, ...]:
    """LSTMs are not linear layers: with them, int16 helps only in the output layer."""
    return ("bf16", "int16") if recurrent else ("int16", "bf16")


def multiplies_int16(device: torch.device) -> bool:
    """int16 products use one thread, as each process has if all cores share the batches."""
    return device.type == "cpu" and torch.get_num_threads() == 1 and int16_pays()


def check_precision(settings: TrainingSettings, device: torch.device) -> None:
    if settings.precision == "int16":
        int16_products(device)


def int16_products(device: torch.device) -> Int16:
    if device.type != "cpu":
        raise QkvError(f"precision int16 needs a CPU, and this is {device.type}. Choose bf16 or float32.")
    try:
        return Int16()
    except NoEngineError as error:
        raise QkvError(f"precision int16 is not available here: {error}. Choose float32 or auto.") from None


def products_here(settings: TrainingSettings, device: torch.device) -> Int16 | None:
    """None if torch multiplies, also for a run that was started with int16 on another machine and lacks it here."""
    with suppress(QkvError):
        return int16_products(device) if settings.precision == "int16" else None
    return None


def multiplies_bf16(device: torch.device) -> bool:
    """Does the device have bf16 instructions? Without them bf16 is slower than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    features = processor_features()
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


def processor_features() -> dict[str, object]:
    """Empty if this version of torch does not report them."""
    features: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return features
