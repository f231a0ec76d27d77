"""The validation loss of a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from qkv.training.batches import Data
from qkv.training.distributed import Group, SingleProcess
from qkv.training.spread import device_of


@torch.no_grad()
def validation_loss(model: nn.Module, loss: Callable[[Any], Tensor], data: Data, group: Group) -> float:
    """Mean loss per token in evaluation mode. Each process computes a share of the batches.

    One with a batch less than the others computes the first with weight 0, because they may synchronize in every batch.
    """
    model.eval()
    device, batches = device_of(model), data.epoch(0)
    shares = group.share(range(len(batches)))
    most = -(-len(batches) // group.size)
    sums = torch.zeros(2, dtype=torch.float64)
    for index in [*shares, *[None] * (most - len(shares))]:
        rows = batches[index or 0]
        tokens = 0 if index is None else data.tokens(rows)
        value = loss(data.batch(rows).to(device)).cpu().double()
        sums += torch.stack([value * tokens, torch.tensor(float(tokens), dtype=torch.float64)])
    total, tokens_of_all = group.agree(*sums.tolist())
    return total / max(1.0, tokens_of_all)


def loss_on(model: nn.Module, data: Data) -> float:
    """The validation loss of a model that this process holds entirely."""
    return validation_loss(model, model.loss, data, SingleProcess())  # type: ignore[arg-type]
