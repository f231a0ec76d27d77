"""Move a batch, a frozen dataclass of tensors and other batches, to the model's device."""

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import torch

Batch = TypeVar("Batch")


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """The batch on this device, without waiting for the copy."""
    return type(batch)(*(move_part(getattr(batch, field.name), device) for field in fields(batch)))  # type: ignore[arg-type]


def move_part(part: Any, device: torch.device) -> Any:
    if is_dataclass(part):
        return move_batch(part, device)
    if device.type == "cuda":  # copies from pinned memory are asynchronous
        return part.pin_memory().to(device, non_blocking=True)
    return part.to(device)
