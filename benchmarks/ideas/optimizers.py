"""Muon with other decays, and with queries and keys orthogonalized per pair of heads."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.training.optimizer import MOMENTUM, Muon, Optimizer, orthogonal


@dataclass(frozen=True, kw_only=True)
class Decay:
    scheduled: bool = (
        False  # multiplied by the rate's share of its peak, so that it falls with the square of the rate
    )
    cautious: bool = False  # only where the step moves the weight towards zero too
    factor: float = 1.0


class OtherMuon(Muon):
    def __init__(self, muon: Muon, decay: Decay, peak: float, pieces: set[int], rows: int):
        super().__init__(muon.share, muon.products)
        self.momentum, self.decay, self.peak = muon.momentum, decay, peak
        self.pieces, self.piece_rows = (
            pieces,
            rows,
        )  # addresses of matrices that are cut into pieces of so many rows

    @torch.no_grad()
    def step(self, rate: float, finite: Tensor) -> None:
        if not bool(finite):
            return
        decay = rate * self.share.parameter_group.decay * self.decay.factor
        if self.decay.scheduled:
            decay *= rate / self.peak
        gradients = torch.stack([matrix.grad for matrix in self.share.own if matrix.grad is not None])
        for momentum, gradient in zip(self.momentum.own, gradients, strict=True):
            momentum.lerp_(gradient, 1 - MOMENTUM)
        ahead = gradients.lerp(torch.stack(self.momentum.own), MOMENTUM)
        for matrix, step in zip(self.share.own, self.orthogonalized(ahead) * rate, strict=True):
            shrink = decay * matrix
            if self.decay.cautious:
                shrink *= step * matrix > 0
            matrix.sub_(shrink + step)

    def orthogonalized(self, ahead: Tensor) -> Tensor:
        found = self.orient(orthogonal(self.orient(ahead), self.products)) * self.size
        cut = [number for number, matrix in enumerate(self.share.own) if matrix.data_ptr() in self.pieces]
        if cut:
            rows, columns = ahead.shape[1:]
            parts = ahead[cut].reshape(-1, self.piece_rows, columns)
            found[cut] = orthogonal(parts, self.products).reshape(-1, rows, columns) * self.size
        return found


def queries_and_keys(model: nn.Module) -> set[int]:
    attentions = [module for module in model.modules() if isinstance(module, Attention)]
    return {linear.weight.data_ptr() for each in attentions for linear in (each.query, each.key)}


def change_muon(optimizer: Optimizer, decay: Decay, peak: float, *, per_pair_of_heads: bool) -> None:
    """Replace the rule of a model whose weights are already in their shares."""
    model = optimizer.spread.model
    pieces = queries_and_keys(model) if per_pair_of_heads else set()
    rows = 2 * next(m.query.out_features // m.heads for m in model.modules() if isinstance(m, Attention))
    optimizer.muon = [OtherMuon(muon, decay, peak, pieces, rows) for muon in optimizer.muon]
