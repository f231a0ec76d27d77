"""A batch is a frozen dataclass of tensors and of other batches; this takes it to where the model is."""

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import torch

Batch = TypeVar("Batch")


def moved(batch: Batch, device: torch.device) -> Batch:
    """On a device nothing is asked for that only the data can tell, such as how many places are real."""
    return type(batch)(*(of_batch(getattr(batch, field.name), device) for field in fields(batch)))  # type: ignore[arg-type]


def of_batch(part: Any, device: torch.device) -> Any:
    if is_dataclass(part):
        return moved(part, device)
    if device.type == "cuda":  # from such memory it copies by itself, and nobody waits
        return part.pin_memory().to(device, non_blocking=True)
    return part.to(device)
