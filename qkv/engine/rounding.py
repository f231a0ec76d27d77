"""How numbers become int8, and the same arithmetic spelled out in torch: for machines without a compiler, and for tests.

Weights are rounded once, each output with a scale of its own. What a layer reads is rounded anew at every call, each
row with its own: to 0 … 127, so that x ≈ low + step · byte.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator

UNIT = 16  # sizes are rounded up to multiples of it
LEVELS = 127  # of what a layer reads, above 0
# The fastest loop adds up the products of 8 inputs in 16 bits: 127 · 258 is the most that they hold, and rounding may
# add half to each of 8.
MOST = 258 - 4


def up_to_unit(size: int) -> int:
    return -(-size // UNIT) * UNIT


def padded(matrix: Tensor) -> Tensor:
    """Zeros at the end of both sides."""
    outputs, inputs = matrix.shape
    return F.pad(matrix, (0, up_to_unit(inputs) - inputs, 0, up_to_unit(outputs) - outputs))


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (N, K), K a multiple of 16, as whole numbers of at most ±127 and the scale of each output (N).

    The scale is as small as can be with no sum of the fastest loop above what 16 bits hold: inputs are not negative,
    so positive and negative weights count apart.
    """
    sums = torch.maximum(largest_sum(weight.clamp(min=0)), largest_sum((-weight).clamp(min=0)))
    scale = torch.maximum(weight.abs().amax(1) / 127, sums / MOST)  # (N)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return (weight / scale[:, None]).round(), scale


def largest_sum(weight: Tensor) -> Tensor:
    """Of every output, the most that 8 inputs add up to which the fastest loop takes together. (N)

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
    """What the engine does with int8, in float32, which holds these whole numbers exactly enough."""

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
    """A translator that computes as the engine does with int8, without it."""

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
    """A language model that computes as the engine does with int8, without it."""

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
    """Every linear layer of a model computes as the engine does with int8."""
    for module in list(model.modules()):
        heads = module.heads if isinstance(module, Attention) else 1
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, rounded_linear(child, heads if name == "output" else 1))


def rounded_linear(linear: nn.Linear, heads: int) -> nn.Module:
    """Inputs that are heads side by side stand apart when they are rounded, as they do in packed weights."""
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
    """(…, H · K) with each head's columns filled up with zeros to a multiple of 16."""
    each = x.unflatten(-1, (heads, -1))
    return F.pad(each, (0, up_to_unit(each.shape[-1]) - each.shape[-1])).flatten(-2)
