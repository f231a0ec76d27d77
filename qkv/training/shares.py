"""Groups of weights with the same update rule, and the part of them that each process updates.

On one machine the processes share the memory of weights, gradients and optimizer state. Each adds up the gradients of
its own part and updates that part, so nothing is computed twice.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from qkv.training.distributed import SingleProcess
from qkv.training.settings import TrainingSettings


@dataclass(frozen=True)
class ParameterGroup:
    """Weights with one update rule. Muon's have one shape, because it updates them together."""

    parameters: list[nn.Parameter]
    rule: Literal["adamw", "muon"]
    decay: float


def parameter_groups(model: nn.Module, settings: TrainingSettings) -> list[ParameterGroup]:
    """Weight decay is for matrices only: it would shrink the embeddings of rare words; biases and norms have none."""
    matrices = matrices_of(model)
    known = {id(matrix) for matrix in matrices}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    kinds = [ParameterGroup([p for p in others if p.ndim >= 2], "adamw", 0.0)]
    if settings.optimizer == "adamw":
        kinds.append(ParameterGroup(matrices, "adamw", settings.weight_decay))
    kinds.append(ParameterGroup([p for p in others if p.ndim < 2], "adamw", 0.0))
    if settings.optimizer == "muon":
        for shape in dict.fromkeys(matrix.shape for matrix in matrices):
            same = [matrix for matrix in matrices if matrix.shape == shape]
            kinds.append(ParameterGroup(same, "muon", settings.weight_decay))
    return [kind for kind in kinds if kind.parameters]


def matrices_of(model: nn.Module) -> list[nn.Parameter]:
    """The weights of the linear layers, without embeddings."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    weights = [linear.weight for linear in linears if isinstance(linear.weight, nn.Parameter)]
    return [weight for weight in weights if weight.requires_grad]


@dataclass(frozen=True)
class Moments:
    """Optimizer state, at first zeros: `own` for what this process updates, `each` for every weight, to be saved."""

    own: list[Tensor]
    each: list[Tensor]


class Share(Protocol):
    parameter_group: ParameterGroup
    own: list[Tensor]  # what this process updates, each with its gradient; for Muon entire matrices

    def moments(self) -> Moments: ...


class OwnShare:
    """Every process updates the weights it has, or its shards of them."""

    def __init__(self, kind: ParameterGroup):
        self.parameter_group = kind
        self.own: list[Tensor] = list(kind.parameters)

    def moments(self) -> Moments:
        """Muon needs entire matrices, so its state is never sharded."""
        if self.parameter_group.rule == "muon":
            zeros = [torch.zeros(p.shape, device=p.device) for p in self.parameter_group.parameters]
        else:
            zeros = [torch.zeros_like(p) for p in self.parameter_group.parameters]
        return Moments(zeros, zeros)


class SharedMemoryShare:
    """Weights in one contiguous block of shared memory, with a part for each process."""

    def __init__(self, kind: ParameterGroup, group: SingleProcess):
        self.parameter_group, self.group = kind, group
        self.device = kind.parameters[0].device
        self.sizes = [parameter.numel() for parameter in kind.parameters]
        self.length = sum(self.sizes)
        self.part = self.part_of(group.rank)
        self.weights = group.shared_zeros((self.length,), self.device)
        self.gradients_of_all = group.shared_zeros((group.size, self.length), self.device)
        self.gradients = self.gradients_of_all[group.rank]
        if group.rank == 0:
            torch.cat([parameter.detach().flatten() for parameter in kind.parameters], out=self.weights)
        places = zip(kind.parameters, self.views(self.weights), self.views(self.gradients), strict=True)
        for parameter, values, gradient in places:
            parameter.data, parameter.grad = values, gradient
        self.own = self.own_of(self.weights)
        for tensor, gradient in zip(self.own, self.own_of(self.gradients), strict=True):
            tensor.grad = gradient

    def part_of(self, rank: int) -> slice:
        """Muon's matrices are never cut."""
        unit = self.sizes[0] if self.parameter_group.rule == "muon" else 1
        units = self.length // unit
        start, end = (units * number // self.group.size * unit for number in (rank, rank + 1))
        return slice(start, end)

    def views(self, flat: Tensor) -> list[Tensor]:
        """A view for each weight."""
        places = zip(flat.split(self.sizes), self.parameter_group.parameters, strict=True)
        return [values.view(parameter.shape) for values, parameter in places]

    def own_of(self, flat: Tensor) -> list[Tensor]:
        """A view of what this process updates."""
        own = flat[self.part]
        if self.parameter_group.rule == "muon":
            return list(own.view(-1, *self.parameter_group.parameters[0].shape))
        return [own] if len(own) else []

    def moments(self) -> Moments:
        flat = self.group.shared_zeros((self.length,), self.device)
        return Moments(self.own_of(flat), self.views(flat))

    def add_up(self) -> None:
        """Add the other processes' gradients to this process's part, after all have computed theirs."""
        for rank in range(self.group.size):
            if rank != self.group.rank:
                self.gradients[self.part] += self.gradients_of_all[rank, self.part]

    def own_gradients(self) -> Tensor:
        return self.gradients[self.part]
