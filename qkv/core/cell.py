"""The SSRU cell: a decoder block keeps one vector instead of keys and values, and each step costs two small products.

The cell of Kim et al. (2019), "From Research to Production and Back: Ludicrously Fast Neural Machine Translation", exactly
as Marian computes it (`--transformer-decoder-autoreg rnn --dec-cell ssru`), so that its models need only a mapping:

    x̃ₜ = W xₜ                       input:  Marian's rnn_W, without a bias
    fₜ = σ(W_f xₜ + b_f)             forget: rnn_Wf and rnn_bf
    cₜ = fₜ ⊙ cₜ₋₁ + (1 − fₜ) ⊙ x̃ₜ   c₀ = 0
    yₜ = relu(cₜ)                    without an output projection

Marian's models are post-norm ("dan"): the block continues with norm(x + dropout(y)), whose norm is Marian's rnn_ffn_ln.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from qkv.core.cache import CellState
from qkv.core.products import through
from qkv.core.tape import Tape


class SSRU(nn.Module):
    """The simpler simple recurrent unit, in place of a decoder's self-attention."""

    def __init__(self, width: int):
        super().__init__()
        self.input = nn.Linear(width, width, bias=False)
        self.forget = nn.Linear(width, width)
        for linear in (self.input, self.forget):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.forget.bias)

    def forward(self, x: Tensor, *, cache: CellState | None = None, tape: Tape | None = None) -> Tensor:
        new, gate = through(self.input, x), through(self.forget, x)  # (B, T, D)
        exact = torch.promote_types(
            new.dtype, torch.float32
        )  # a sum over all positions must not be rounded at each
        new, keep = new.to(exact), gate.to(exact).sigmoid()
        start = new.new_zeros(len(x), x.shape[-1]) if cache is None or cache.state is None else cache.state
        states = recurrence(new, keep, start)
        y = F.relu(states)
        if cache is not None:
            cache.update(states)
        if tape is not None:
            for name, tensor in [("input", new), ("forget", keep), ("state", states), ("output", y)]:
                tape.record(name, tensor)
        return y


def recurrence(new: Tensor, keep: Tensor, start: Tensor) -> Tensor:
    """cₜ = keepₜ cₜ₋₁ + (1 − keepₜ) newₜ for all positions: (B, T, D) twice and (B, D) in, (B, T, D) out."""
    states: Tensor = Recurrence.apply(new, keep, start)  # type: ignore[no-untyped-call]
    return states


class Recurrence(torch.autograd.Function):
    """One operation per position in each direction; autograd would take about ten."""

    @staticmethod
    def forward(ctx: Any, new: Tensor, keep: Tensor, start: Tensor) -> Tensor:
        states, state = torch.empty_like(new), start
        for position in range(new.shape[1]):
            state = torch.lerp(new[:, position], state, keep[:, position], out=states[:, position])
        ctx.save_for_backward(new, keep, start, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        new, keep, start, states = ctx.saved_tensors
        by_state = upstream.clone()  # (B, T, D) with what each state passes on to the next
        for position in range(new.shape[1] - 1, 0, -1):
            by_state[:, position - 1].addcmul_(keep[:, position], by_state[:, position])
        before = torch.cat([start[:, None], states[:, :-1]], dim=1)  # (B, T, D)
        return by_state * (1 - keep), by_state * (before - new), by_state[:, 0] * keep[:, 0]
