"""The arithmetic of engine/rounding.py in torch, for machines without a compiler and for tests.

Weights are rounded once, with a scale per output. Inputs of a layer are rounded at every call, with a step and a low end
per row, to 0 … 127: x ≈ low + step · byte.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator

UNIT = 16  # sizes are rounded up to multiples of it
LEVELS = 127  # of inputs, above 0
# The fastest loop sums the products of 8 inputs in 16 bits, which hold at most 127 · 258. Rounding may add a half to
# each of the 8.
MOST = 258 - 4


def up_to_unit(size: int) -> int:
    return -(-size // UNIT) * UNIT


def padded(matrix: Tensor) -> Tensor:
    """Pad both dimensions with zeros."""
    outputs, inputs = matrix.shape
    return F.pad(matrix, (0, up_to_unit(inputs) - inputs, 0, up_to_unit(outputs) - outputs))


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (N, K), K a multiple of 16, as whole numbers of at most ±127 and the scale of each output (N).

    The scale is the smallest for which no sum of the fastest loop overflows 16 bits. Inputs are not negative, so positive
    and negative weights count separately.
    """
    sums = torch.maximum(largest_sum(weight.clamp(min=0)), largest_sum((-weight).clamp(min=0)))
    scale = torch.maximum(weight.abs().amax(1) / 127, sums / MOST)  # (N)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return (weight / scale[:, None]).round(), scale


def largest_sum(weight: Tensor) -> Tensor:
    """For every output, the largest sum of 8 weights that the fastest loop adds together. (N)

    It reads 16 inputs in four steps of four, and sums the first two of all steps, and the last two.
    """
    pairs = weight[:, 0::2] + weight[:, 1::2]  # (N, K / 2)
    steps = pairs.view(len(weight), -1, 4, 2).unbind(2)
    return (steps[0] + steps[1] + steps[2] + steps[3]).amax((1, 2))


def rounded_rows(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows (…, K) as whole numbers from 0 to 127, and the step and the low end (…, 1) of each."""
    low, high = x.amin(-1, keepdim=True).clamp(max=0), x.amax(-1, keepdim=True).clamp(min=0)
    reach = high - low
    up = torch.where(reach > 0, LEVELS / reach, torch.zeros_like(reach))
    return ((x - low) * up + 0.5).floor(), reach / LEVELS, low


class RoundedLinear(nn.Module):
    """The engine's int8 arithmetic in float32, which holds these integers exactly enough."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        whole, scale = rounded(F.pad(weight, (0, up_to_unit(weight.shape[1]) - weight.shape[1])))
        self.whole, self.scale = whole[:, : weight.shape[1]], scale
        self.sum = scale * whole.sum(1)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        whole, step, low = rounded_rows(x)
        y = F.linear(whole, self.whole) * (step * self.scale) + low * self.sum
        return y if self.bias is None else y + self.bias


class RoundedTranslator(Translator):
    """A translator with the engine's int8 arithmetic, in torch."""

    def __init__(self, model: Translator):
        super().__init__(model.config)
        self.load_state_dict(model.state_dict())
        round_layers(self)
        self.last = RoundedLinear(self.tokens.weight, self.bias)
        self.requires_grad_(False).eval()

    def output(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(x)
        return logits


class RoundedGPT(GPT):
    """A language model with the engine's int8 arithmetic, in torch."""

    def __init__(self, model: GPT):
        super().__init__(model.config)
        self.load_state_dict(model.state_dict())
        round_layers(self)
        self.last = RoundedLinear(self.tokens.weight, None)
        self.requires_grad_(False).eval()

    def output(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(x)
        return logits


def round_layers(model: nn.Module) -> None:
    """Replace every linear layer of a model by the engine's int8 arithmetic."""
    for module in list(model.modules()):
        heads = module.heads if isinstance(module, Attention) else 1
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, rounded_linear(child, heads if name == "output" else 1))


def rounded_linear(linear: nn.Linear, heads: int) -> nn.Module:
    """Inputs made of several heads are padded per head before rounding, as in packed weights."""
    weight, bias = linear.weight.detach(), linear.bias.detach()
    if heads == 1 or weight.shape[1] // heads % UNIT == 0:
        return RoundedLinear(weight, bias)
    return HeadwiseLinear(weight, bias, heads)


class HeadwiseLinear(RoundedLinear):
    def __init__(self, weight: Tensor, bias: Tensor, heads: int):
        super().__init__(heads_apart(weight, heads), bias)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(heads_apart(x, self.heads))


def heads_apart(x: Tensor, heads: int) -> Tensor:
    """(…, H · K) with each head's columns zero-padded to a multiple of 16."""
    each = x.unflatten(-1, (heads, -1))
    return F.pad(each, (0, up_to_unit(each.shape[-1]) - each.shape[-1])).flatten(-2)
