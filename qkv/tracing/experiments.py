"""Ablations: copies of a model with one thing changed, so that the model itself needs no switches."""

import copy
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from qkv.errors import QkvError

SILENCED = re.compile(
    r"(?P<stack>\w+)\.(?P<block>\d{1,6})(?:\.(?P<sublayer>attention|cross_attention)\.(?P<head>\d{1,6}))?"
)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    no_scaling: bool = False
    """Do not divide scores by √K."""
    no_mask: bool = False
    """Let the decoder attend to later positions."""
    no_positions: bool = False
    """Remove positions."""
    shuffle: int = 0
    """Shuffle the source's words with this seed; 0 for no shuffling."""
    silenced: tuple[str, ...] = ()
    """Heads such as `decoder.1.cross_attention.0`, and whole blocks such as `encoder.0`, to silence."""
    force: tuple[int, ...] = ()
    """Token ids that the output must start with."""

    @property
    def changes_model(self) -> bool:
        return self.no_scaling or self.no_mask or self.no_positions or bool(self.silenced)


def without_mask(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A stack without a causal mask."""

    def unmasked_forward(x: Tensor, *, mask: Tensor | None = None, **rest: Any) -> Tensor:
        return forward(x, mask=None if mask is None else torch.ones_like(mask), **rest)

    return unmasked_forward


@dataclass(frozen=True)
class StackLocation:
    """Where a model has a stack of blocks or LSTMs, and whether its self-attention is causal."""

    path: str
    causal: bool
    attention: str = ""  # where its attention to the source is, if outside the blocks


@torch.no_grad()
def apply_experiment(model: nn.Module, experiment: Experiment, places: Mapping[str, StackLocation]) -> Any:
    """A copy of the model with the experiment applied, or the model itself if nothing changes.

    `places` maps the names of recorded stacks to their locations.
    """
    if not experiment.changes_model:
        return model
    model = copy.deepcopy(model)
    for name in experiment.silenced:
        silence(model, places, name)
    if experiment.no_scaling:
        for attention in attentions_of(model):
            for each in attention.query.parameters():  # scaled up to undo the division by √K
                each.mul_((each.shape[0] // attention.heads) ** 0.5)
    if experiment.no_positions:
        for name, each in [*model.named_buffers(), *model.named_parameters()]:
            if name.endswith("table"):
                each.copy_(without_rotation(each) if each.dim() == 3 else torch.zeros_like(each))
    if experiment.no_mask:
        for place in places.values():
            if place.causal:
                stack: Any = model.get_submodule(place.path)
                stack.forward = without_mask(stack.forward)
    return model


def attentions_of(model: nn.Module) -> list[Any]:
    return [each for each in model.modules() if hasattr(each, "query") and hasattr(each, "heads")]


def without_rotation(rotation: Tensor) -> Tensor:
    """Rotary positions (T, 2, K) without effect: cosines are 1, sines 0."""
    table = torch.zeros_like(rotation)
    table[:, 0] = 1
    return table


def silence(model: nn.Module, places: Mapping[str, StackLocation], name: str) -> None:
    """Zero the columns of W_O that belong to a head, or the last layers of all sublayers of a block.

    An LSTM is silenced as a whole: all of its weights become zero.
    """
    found = SILENCED.fullmatch(name)
    place = None if found is None else places.get(found["stack"])
    attention = None
    if found is not None and place is not None:
        stack: Any = model.get_submodule(place.path)
        blocks, number = getattr(stack, "blocks", stack), int(found["block"])
        if found["sublayer"] is None and number < len(blocks):
            for module in ends_of(blocks[number]):
                for each in module.parameters():
                    each.zero_()
            return
        if found["sublayer"] is not None:
            attention = attention_at(model, place, blocks, number, found["sublayer"])
    if found is None or attention is None or int(found["head"]) >= attention.heads:
        raise QkvError(f"this model has no '{name[:40]}' to silence.")
    width, head = attention.output.weight.shape[1] // attention.heads, int(found["head"])
    attention.output.weight[:, head * width : (head + 1) * width] = 0


def ends_of(block: Any) -> list[nn.Module]:
    """The modules that must be zero so that a block adds nothing to the residual stream."""
    if not hasattr(block, "feed_forward"):
        return [block]
    ends = [block.cell.sublayer.input] if block.has_cell else [block.attention.sublayer.output]
    if block.cross_attention is not None:
        ends.append(block.cross_attention.sublayer.output)
    return [*ends, block.feed_forward.sublayer.contract]


def attention_at(model: nn.Module, place: StackLocation, blocks: Any, number: int, sublayer: str) -> Any:
    """The attention of a block, or that of the LSTMs, which belongs to the first of them; None if there is none."""
    if place.attention:
        return model.get_submodule(place.attention) if (number, sublayer) == (0, "cross_attention") else None
    residual = getattr(blocks[number], sublayer, None) if number < len(blocks) else None
    return None if residual is None else residual.sublayer


def shuffle_words(text: str, seed: int) -> str:
    """The words of a text in another order, the same for the same seed."""
    words = text.split()
    if not seed or len(words) < 2:
        return text
    order, generator = list(words), random.Random(seed)
    for _ in range(20):  # equal words may give the old order
        generator.shuffle(order)
        if order != words:
            break
    return " ".join(order)


class Uncached:
    """A step (the Step protocol) without a cache: it reads the whole prefix again, so that early tokens can attend to later ones."""

    def __init__(self, model: Any, source: Tensor):
        self.model = model
        self.memory, self.mask = model.encode(source)
        self.prefix: Tensor | None = None

    def __call__(self, ids: Tensor) -> Tensor:
        self.prefix = ids if self.prefix is None else torch.cat([self.prefix, ids], 1)
        logits: Tensor = self.model.output(self.model.decode(self.prefix, self.memory, self.mask)[:, -1])
        return logits

    def select(self, rows: Tensor) -> None:
        self.memory, self.mask = self.memory[rows], self.mask[rows]
        self.prefix = None if self.prefix is None else self.prefix[rows]


def check_forced(force: Sequence[int], vocab: int) -> None:
    if any(not 0 <= number < vocab for number in force):
        raise QkvError(f"a forced token must be below the vocabulary size of {vocab:,}.")
