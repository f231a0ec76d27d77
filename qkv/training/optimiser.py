"""AdamW, and its state as plain named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from qkv.training.settings import TrainingSettings


def make_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Weight decay pulls matrices towards zero; biases and norms are left where they are."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`3.exp_avg` is the running mean of parameter 3."""
    state = optimiser.state_dict()["state"]
    return {f"{index}.{name}": tensor for index, kept in state.items() for name, tensor in kept.items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
