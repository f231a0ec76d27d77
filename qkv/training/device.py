"""Where a model is trained, and in which numbers its products are computed."""

import os
from dataclasses import replace
from typing import TypeVar

import torch

from qkv.training.settings import RunSettings

Settings = TypeVar("Settings", bound=RunSettings)

WIDE = 512  # from this width on, products in bf16 gain more than turning numbers into it costs


def choose_device() -> torch.device:
    if torch.cuda.is_available():
        own = int(os.environ.get("LOCAL_RANK", "0"))  # torchrun gives each process its own
        return torch.device("cuda", own)
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def with_precision(settings: Settings, width: int, device: torch.device) -> Settings:
    """The settings with `auto` decided, as they are kept in the run: on another machine it goes on as it began."""
    if settings.training.precision != "auto":
        return settings
    pays = width >= WIDE and multiplies_bf16(device)
    return replace(settings, training=replace(settings.training, precision="bf16" if pays else "float32"))


def multiplies_bf16(device: torch.device) -> bool:
    """Has the device instructions of its own for it? Without them bf16 is slower than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    features: dict[str, object] = getattr(
        torch.cpu, "get_capabilities", dict
    )()  # older versions of torch do not tell
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))
