"""AdamW for every weight, or Muon for the matrices of the blocks; their state as plain named tensors."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from qkv.training.gradients import Gradients
from qkv.training.settings import TrainingSettings


class Optimiser:
    """One step for all weights of a model, from gradients that are the same in every process of a group."""

    def __init__(self, model: nn.Module, settings: TrainingSettings, gradients: Gradients):
        matrices = matrices_of(model)
        self.muon = Muon(matrices, settings, gradients) if settings.optimiser == "muon" else None
        known = {id(matrix) for matrix in matrices}
        others = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
        groups = [  # decay would only shrink the vectors of rare words; biases and norms stay where they are
            {"params": [p for p in others if p.ndim >= 2], "weight_decay": 0.0},
            {"params": [] if self.muon else matrices, "weight_decay": settings.weight_decay},
            {"params": [p for p in others if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.adamw = torch.optim.AdamW(groups, lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)

    def step(self, rate: float) -> None:
        for group in self.adamw.param_groups:
            group["lr"] = rate
        self.adamw.step()
        if self.muon is not None:
            self.muon.step(rate)  # last: it uses the gradients' memory

    def tensors(self) -> dict[str, Tensor]:
        """`3.exp_avg` is AdamW's running mean of its parameter 3, `muon.128x256` a stack of Muon's."""
        state = self.adamw.state_dict()["state"]
        kept = {f"{index}.{name}": tensor for index, each in state.items() for name, tensor in each.items()}
        if self.muon is not None:
            kept |= {f"muon.{stack.name}": stack.momentum for stack in self.muon.stacks}
        return kept

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            index, name = key.split(".", 1)
            if index != "muon":
                state.setdefault(int(index), {})[name] = tensor
        groups = self.adamw.state_dict()["param_groups"]
        self.adamw.load_state_dict({"state": state, "param_groups": groups})
        if self.muon is not None:
            for stack in self.muon.stacks:
                stack.momentum.copy_(tensors[f"muon.{stack.name}"])


def matrices_of(model: nn.Module) -> list[nn.Parameter]:
    """The weights of the linear layers; embeddings, whose rows are words, are none."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    weights = [linear.weight for linear in linears if isinstance(linear.weight, nn.Parameter)]
    return [weight for weight in weights if weight.requires_grad]


class Stack:
    """Matrices of one shape, laid down so that they have no more rows than columns."""

    def __init__(self, matrices: Sequence[nn.Parameter]):
        self.matrices = list(matrices)
        rows, columns = self.matrices[0].shape
        self.upright = rows > columns
        self.name = f"{rows}x{columns}"
        shape = (len(self.matrices), min(rows, columns), max(rows, columns))
        self.momentum = torch.zeros(shape, device=self.matrices[0].device)

    def laid(self, matrix: Tensor) -> Tensor:
        return matrix.T if self.upright else matrix


class Muon:
    """Momentum whose direction has all its singular values near one (Jordan et al., 2024).

    No direction in the space of a matrix is then left behind by the steep ones, and a model of this size
    learns as much in fewer epochs. Each process orthogonalises its share of the matrices. The step is scaled
    like AdamW's (Liu et al., 2025), so one learning rate serves both.
    """

    def __init__(self, matrices: Sequence[nn.Parameter], settings: TrainingSettings, gradients: Gradients):
        self.matrices, self.settings, self.gradients = matrices, settings, gradients
        shapes = dict.fromkeys(tuple(matrix.shape) for matrix in matrices)
        self.stacks = [Stack([m for m in matrices if tuple(m.shape) == shape]) for shape in shapes]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        group, decay = self.gradients.group, self.settings.weight_decay
        steps = [self.direction(stack, slice(group.rank, None, group.size)) for stack in self.stacks]
        self.gradients.zero()
        for stack, directions in zip(self.stacks, steps, strict=True):
            own = stack.matrices[group.rank :: group.size]
            for matrix, direction in zip(own, directions, strict=True):
                assert matrix.grad is not None
                stack.laid(matrix.grad).copy_(direction)
        self.gradients.add_up()  # each process has filled in its own: now all have all
        for stack in self.stacks:
            for matrix in stack.matrices:
                assert matrix.grad is not None
                if decay:
                    matrix.mul_(1 - rate * decay)
                matrix.add_(matrix.grad, alpha=-rate * SIZE * max(matrix.shape) ** 0.5)

    def direction(self, stack: Stack, share: slice) -> Tensor:
        gradient = torch.stack([stack.laid(m.grad) for m in stack.matrices if m.grad is not None])
        stack.momentum.lerp_(gradient, 1 - MOMENTUM)
        return orthogonal(gradient[share].lerp(stack.momentum[share], MOMENTUM))  # Nesterov's look ahead


MOMENTUM = 0.95
SIZE = 0.4  # root mean square of a step, in units of the rate, as AdamW's is in practice


def orthogonal(matrices: Tensor) -> Tensor:
    """Nearly U Vᵀ of each matrix U Σ Vᵀ: (N, rows, columns) with no more rows than columns.

    Five times an odd polynomial of degree five, whose coefficients drive every singular value between 0 and
    1 fast into the neighbourhood of 1 (Newton and Schulz's method, tuned for speed rather than exactness).
    """
    x = matrices / (matrices.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(5):
        square = torch.bmm(x, x.transpose(1, 2))
        polynomial = torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, polynomial, x, beta=3.4445)
    return x
