"""AdamW for every weight, or Muon for the matrices of linear layers. Their state is named tensors."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from qkv.core.products import FusedProducts, Products
from qkv.training.settings import TrainingSettings
from qkv.training.shares import Moments, Share
from qkv.training.spread import Spread, gather, shard_like


class Optimizer:
    """Updates all weights of a model from the gradients of all processes."""

    def __init__(self, spread: Spread, settings: TrainingSettings):
        self.spread = spread
        self.adamw = AdamW(
            [share for share in spread.shares if share.parameter_group.rule == "adamw"], settings
        )
        self.muon = [
            Muon(share, spread.products) for share in spread.shares if share.parameter_group.rule == "muon"
        ]

    def step(self, rate: float, finite: Tensor) -> None:
        """Update nothing if `finite`, a tensor on the model's device, is false."""
        self.adamw.step(rate, finite)
        for stack in self.muon:
            stack.step(rate, finite)
        self.spread.wait_for_updates()

    def tensors(self) -> dict[str, Tensor]:
        """`3.exp_avg` is AdamW's running mean for parameter 3, `muon.128x256` the momentum of Muon's matrices of a shape."""
        return self.adamw.tensors() | {f"muon.{stack.name}": stack.stacked_momentum() for stack in self.muon}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.adamw.restore(tensors)
        for stack in self.muon:
            stack.restore(tensors[f"muon.{stack.name}"])


class AdamW:
    """torch's AdamW, with its state in the memory of the shares."""

    def __init__(self, shares: Sequence[Share], settings: TrainingSettings):
        groups = [{"params": share.own, "weight_decay": share.parameter_group.decay} for share in shares]
        self.fused = torch.optim.AdamW(
            groups or [{"params": []}],
            lr=0.0,
            betas=settings.adam_betas,
            eps=settings.adam_epsilon,
            fused=True,
        )
        self.states: list[tuple[Moments, Moments]] = []
        for share in shares:
            means, squares = share.moments(), share.moments()
            self.states.append((means, squares))
            for weights, mean, square in zip(share.own, means.own, squares.own, strict=True):
                steps = torch.zeros((), device=weights.device)
                self.fused.state[weights] = {"step": steps, "exp_avg": mean, "exp_avg_sq": square}
        self.steps = torch.tensor(0.0)  # without those that were skipped

    def step(self, rate: float, finite: Tensor) -> None:
        for group in self.fused.param_groups:
            group["lr"] = rate
        self.fused.found_inf = (~finite).float()  # type: ignore[attr-defined]  # torch skips the step without waiting for the device
        self.fused.step()
        self.steps = self.steps.to(finite.device) + finite

    def tensors(self) -> dict[str, Tensor]:
        kept: dict[str, Tensor] = {}
        for number, (mean, square) in enumerate(self.each()):
            kept |= {
                f"{number}.step": self.steps.clone(),
                f"{number}.exp_avg": mean,
                f"{number}.exp_avg_sq": square,
            }
        return kept

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for number, (mean, square) in enumerate(self.each()):
            self.steps = tensors[f"{number}.step"]  # the same for all
            mean.copy_(shard_like(tensors[f"{number}.exp_avg"], mean))
            square.copy_(shard_like(tensors[f"{number}.exp_avg_sq"], square))
        for state in self.fused.state.values():
            state["step"].copy_(self.steps)

    def each(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The state of each weight."""
        for means, squares in self.states:
            yield from zip(means.each, squares.each, strict=True)


class Muon:
    """Momentum with all singular values close to one (Jordan et al., 2024), for matrices of one shape.

    No direction dominates the update, and small models need fewer epochs. The step is scaled like AdamW's (Liu et al.,
    2025), so both use the same learning rate.
    """

    def __init__(self, share: Share, products: Products | None = None):
        self.share, self.momentum, self.products = share, share.moments(), products
        rows, columns = share.parameter_group.parameters[0].shape
        self.upright = rows > columns
        self.size = SIZE * max(rows, columns) ** 0.5
        self.name = f"{rows}x{columns}"

    @torch.no_grad()
    def step(self, rate: float, finite: Tensor) -> None:
        if not self.share.own:
            return
        rate_or_none = torch.where(finite, rate, 0.0)
        gradients = torch.stack([gather(matrix.grad) for matrix in self.share.own if matrix.grad is not None])
        gradients = torch.where(finite, gradients, 0.0)
        new_share = torch.where(finite, 1 - MOMENTUM, 0.0)
        for momentum, gradient in zip(self.momentum.own, gradients, strict=True):
            momentum.lerp_(gradient, new_share)
        ahead = gradients.lerp(torch.stack(self.momentum.own), MOMENTUM)  # Nesterov
        steps = self.orient(orthogonal(self.orient(ahead), self.products)) * (rate_or_none * self.size)
        kept = 1 - rate_or_none * self.share.parameter_group.decay
        for matrix, step in zip(self.share.own, steps, strict=True):
            if self.share.parameter_group.decay:
                matrix.mul_(kept)
            matrix.sub_(shard_like(step, matrix))

    def orient(self, matrices: Tensor) -> Tensor:
        """Transpose, if needed, so that there are no more rows than columns. Applied twice, it undoes itself."""
        return matrices.transpose(-1, -2) if self.upright else matrices

    def stacked_momentum(self) -> Tensor:
        return self.orient(torch.stack(self.momentum.each))

    def restore(self, kept: Tensor) -> None:
        for momentum, values in zip(self.momentum.each, self.orient(kept), strict=True):
            momentum.copy_(values)


MOMENTUM = 0.95
SIZE = 0.4  # root mean square of a step divided by the learning rate, as with AdamW in practice


LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315  # coefficients
TIMES = 5


def orthogonal(matrices: Tensor, products: Products | None = None) -> Tensor:
    """Approximately U Vᵀ for each matrix U Σ Vᵀ: (N, rows, columns) with no more rows than columns.

    Five iterations of an odd polynomial of degree five that moves singular values between 0 and 1 close to 1
    (Newton-Schulz, tuned for speed rather than precision). `products` in a narrow format come as close.
    """
    if isinstance(products, FusedProducts) and products.fit(matrices[0]):
        return products.orthogonalize(matrices, (LINEAR, CUBIC, QUINTIC), TIMES)
    x = matrices / (matrices.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(TIMES):
        square = torch.bmm(x, x.transpose(1, 2))
        polynomial = torch.baddbmm(square, square, square, beta=CUBIC, alpha=QUINTIC)
        x = torch.baddbmm(x, polynomial, x, beta=LINEAR)
    return x
