"""AdamW for every weight, or Muon for the matrices of the blocks; their state as plain named tensors."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from qkv.training.settings import TrainingSettings
from qkv.training.spread import Spread, laid_like, whole


class Optimiser:
    """One step for all weights of a model, from gradients that are those of all processes."""

    def __init__(self, spread: Spread, settings: TrainingSettings):
        model = spread.model
        matrices = matrices_of(model)
        self.muon = Muon(matrices, settings, spread) if settings.optimiser == "muon" else None
        known = {id(matrix) for matrix in matrices}
        others = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
        groups = [  # decay would only shrink the vectors of rare words; biases and norms stay where they are
            {"params": [p for p in others if p.ndim >= 2], "weight_decay": 0.0},
            {"params": [] if self.muon else matrices, "weight_decay": settings.weight_decay},
            {"params": [p for p in others if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.adamw = torch.optim.AdamW(groups, lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)

    def step(self, rate: float, finite: Tensor) -> None:
        """Nothing moves where `finite`, which is on the model's device, says that the gradients are no numbers."""
        for group in self.adamw.param_groups:
            group["lr"] = rate
        self.adamw.found_inf = (~finite).float()  # type: ignore[attr-defined]  # torch's own way to skip a step without asking the device
        self.adamw.step()
        if self.muon is not None:
            self.muon.step(rate, finite)  # last: it uses the gradients' memory

    def tensors(self) -> dict[str, Tensor]:
        """`3.exp_avg` is AdamW's running mean of its parameter 3, `muon.128x256` a stack of Muon's."""
        state = self.adamw.state_dict()["state"]
        kept = {f"{index}.{name}": value for index, each in state.items() for name, value in each.items()}
        if self.muon is not None:
            kept |= {f"muon.{stack.name}": stack.momentum for stack in self.muon.stacks}
        return kept

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        owners = [parameter for group in self.adamw.param_groups for parameter in group["params"]]
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            prefix, name = key.split(".", 1)
            if prefix != "muon":
                index = int(prefix)
                counts = tensor.ndim == 0  # the number of steps, the same for all parts of a weight
                state.setdefault(index, {})[name] = tensor if counts else laid_like(tensor, owners[index])
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
    learns as much in fewer epochs. On one machine each process orthogonalises its share of the matrices. The step is scaled
    like AdamW's (Liu et al., 2025), so one learning rate serves both.
    """

    def __init__(self, matrices: Sequence[nn.Parameter], settings: TrainingSettings, spread: Spread):
        self.matrices, self.settings, self.spread = matrices, settings, spread
        shapes = dict.fromkeys(tuple(matrix.shape) for matrix in matrices)
        self.stacks = [Stack([m for m in matrices if tuple(m.shape) == shape]) for shape in shapes]

    @torch.no_grad()
    def step(self, rate: float, finite: Tensor) -> None:
        decay = self.settings.weight_decay
        rate_or_none = torch.where(finite, rate, 0.0)
        directions = self.spread.collected([self.direction(stack, finite) for stack in self.stacks])
        for stack, stacked in zip(self.stacks, directions, strict=True):
            size = SIZE * max(stack.matrices[0].shape) ** 0.5
            for matrix, direction in zip(stack.matrices, stacked, strict=True):
                if decay:
                    matrix.mul_(1 - rate_or_none * decay)
                matrix.sub_(laid_like(stack.laid(direction) * (rate_or_none * size), matrix))

    def direction(self, stack: Stack, finite: Tensor) -> Tensor:
        """Of all matrices of the stack, or of this process's own with zeros for the rest."""
        gradients = torch.stack([stack.laid(whole(m.grad)) for m in stack.matrices if m.grad is not None])
        gradients = torch.where(finite, gradients, 0.0)
        stack.momentum.lerp_(gradients, torch.where(finite, 1 - MOMENTUM, 0.0))
        own = self.spread.own_matrices
        directions = torch.zeros_like(gradients)
        directions[own] = orthogonal(
            gradients[own].lerp(stack.momentum[own], MOMENTUM)
        )  # Nesterov's look ahead
        return directions


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
