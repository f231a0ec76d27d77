"""The self-check: every number of a trace once more, in float64 by NumPy, from the weights alone.

Nothing of the model's own code is used here, so that a fault there cannot hide: each line is the decks' formula.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from qkv.explore.formulas import (
    ACTIVATIONS,
    Array,
    Weights,
    attended,
    linear,
    normed,
    rotated,
    side_by_side,
    sinusoid,
    split,
)
from qkv.explore.recompute_recurrent import recurrent
from qkv.tracing.trace import Trace


@dataclass(frozen=True)
class Check:
    """How far the trace is from the second computation."""

    arrays: int
    numbers: int
    largest: float
    where: str


def check(trace: Trace) -> Check:
    again = recompute(trace)
    missing = set(trace.arrays) ^ set(again)
    if missing:
        raise ValueError(f"only one of the two computations has {', '.join(sorted(missing))}")
    largest, where, numbers = 0.0, "", 0
    for name, array in trace.arrays.items():
        difference = distance(array.astype(np.float64), again[name])
        numbers += array.size
        if difference >= largest:
            largest, where = difference, name
    return Check(len(trace.arrays), numbers, largest, where)


def distance(one: Array, other: Array) -> float:
    """The largest difference; minus infinity, which a mask leaves, must be in the same places."""
    if one.shape != other.shape or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return float("inf")
    finite = np.isfinite(one)
    return float(np.abs(one[finite] - other[finite]).max(initial=0.0))


def recompute(trace: Trace) -> dict[str, Array]:
    """All that was recorded, by the same names."""
    weights = {name: each.detach().cpu().double().numpy() for name, each in trace.weights.items()}
    if trace.kind not in KINDS:
        raise ValueError(f"there is no second computation for a {trace.kind}")
    return KINDS[trace.kind](trace, weights)


def translator(trace: Trace, weights: Weights) -> dict[str, Array]:
    config, found = trace.config, dict[str, Array]()
    source, target = trace.side("encoder"), trace.side("decoder")
    experiment = trace.experiment
    x, memory = None, None
    for side in (source, target):
        tokens = weights["tokens.weight"][list(side.ids)] * config["encoder"]["width"] ** 0.5
        positions = positions_of(config, weights, side.name, len(side.ids))
        if positions is not None:
            positions = np.zeros_like(positions) if experiment.no_positions else positions
            found[f"{side.name}.positions"] = positions
        x = tokens if positions is None else tokens + positions
        found |= {f"{side.name}.tokens": tokens, f"{side.name}.embedded": x}
        turned = config["positions"] == "rotary" and not experiment.no_positions
        causal = side is target and not experiment.no_mask
        stack = Stack(weights, side.name, config[side.name], found, causal=causal, turned=turned)
        x = stack(x, memory)
        memory = x
    assert x is not None
    found["logits"] = x @ weights["tokens.weight"].T + weights.get("bias", 0.0)  # Marian's models have one
    return found


def gpt(trace: Trace, weights: Weights) -> dict[str, Array]:
    config, found, side = trace.config, dict[str, Array](), trace.side("decoder")
    tokens = weights["tokens.weight"][list(side.ids)]
    x = tokens
    if config["positions"] == "learned":
        found["decoder.positions"] = weights["positions.table"][: len(side.ids)]
        x = tokens + found["decoder.positions"]
    found |= {"decoder.tokens": tokens, "decoder.embedded": x}
    turned = config["positions"] == "rotary" and not trace.experiment.no_positions
    causal = not trace.experiment.no_mask
    x = Stack(weights, "decoder", side.stack, found, causal=causal, turned=turned, prefix=side.weights)(x)
    found["logits"] = x @ weights["tokens.weight"].T
    return found


def bert(trace: Trace, weights: Weights) -> dict[str, Array]:
    found, side = dict[str, Array](), trace.side("encoder")
    eps = side.stack["norm_eps"]
    tokens = weights["encoder.tokens.weight"][list(side.ids)]
    positions = weights["encoder.positions.table"][: len(side.ids)]
    total = tokens + weights["encoder.segments.weight"][0] + positions
    x = normed(total, weights["encoder.norm.weight"], weights["encoder.norm.bias"], eps)
    found |= {"encoder.tokens": tokens, "encoder.positions": positions, "encoder.embedded": x}
    x = Stack(weights, "encoder", side.stack, found, causal=False, prefix=side.weights)(x)
    if "logits" in trace.arrays:
        y = linear(weights, "words.transform", x)
        y = normed(
            ACTIVATIONS[side.stack["activation"]](y),
            weights["words.norm.weight"],
            weights["words.norm.bias"],
            eps,
        )
        found["logits"] = y @ weights["encoder.tokens.weight"].T + weights["words.bias"]
    return found


def vit(trace: Trace, weights: Weights) -> dict[str, Array]:
    found, side, size = dict[str, Array](), trace.side("stack"), trace.config["patch"]
    picture = np.asarray(trace.picture, dtype=np.float64)
    _, height, width = picture.shape
    cut = [
        picture[:, top : top + size, left : left + size].ravel()
        for top in range(0, height, size)
        for left in range(0, width, size)
    ]
    patches = linear(weights, "patches", np.stack(cut))
    tokens = np.concatenate([weights["class_token"][None], patches])
    positions = weights["positions.table"]
    found |= {"stack.patches": patches, "stack.tokens": tokens, "stack.positions": positions}
    x = found["stack.embedded"] = tokens + positions
    x = Stack(weights, "stack", side.stack, found, causal=False)(x)
    found["logits"] = linear(weights, "head", x[0])
    return found


def positions_of(config: dict[str, Any], weights: Weights, side: str, length: int) -> Array | None:
    width = config["encoder"]["width"]
    match config["positions"]:
        case "learned":
            owner = "source" if side == "encoder" else "target"
            return weights[f"{owner}_positions.table"][:length]
        case "rotary":
            return None
        case "none":
            return np.zeros((length, width))
        case layout:
            return sinusoid(length, width, layout)


class Stack:
    """N blocks, and the norm behind them where norms come first. What they compute is put into `found`."""

    def __init__(
        self,
        weights: Weights,
        name: str,
        config: dict[str, Any],
        found: dict[str, Array],
        *,
        causal: bool,
        turned: bool = False,
        prefix: str | None = None,
    ):
        self.weights, self.name, self.config, self.found = weights, name, config, found
        self.prefix = name if prefix is None else prefix  # of the names of its weights
        self.causal, self.turned = causal, turned
        self.pre = config["norm"] == "pre"

    def __call__(self, x: Array, memory: Array | None = None) -> Array:
        for block in range(self.config["depth"]):
            x = self.residual(x, f"{block}.attention", lambda y, name: self.attention(y, y, name, own=True))
            if memory is not None:
                x = self.residual(
                    x, f"{block}.cross_attention", lambda y, name: self.attention(y, memory, name, own=False)
                )
            x = self.residual(x, f"{block}.feed_forward", self.feed_forward)
        y = self.norm(x, "norm") if self.pre else x
        self.found[f"{self.name}.output"] = y
        return y

    def residual(self, x: Array, name: str, sublayer: Any) -> Array:
        """x + sublayer(norm(x)), or norm(x + sublayer(x))."""
        norm = f"blocks.{name}.norm"
        if self.pre:
            between = self.norm(x, norm)
            result = x + sublayer(between, name)
        else:
            between = x + sublayer(x, name)
            result = self.norm(between, norm)
        self.keep(name, **{"normed" if self.pre else "sum": between, "result": result})
        return result

    def attention(self, x: Array, source: Array, name: str, *, own: bool) -> Array:
        q, k, v = (
            split(self.linear(each, f"blocks.{name}.sublayer.{part}"), self.config["heads"])
            for each, part in [(x, "query"), (source, "key"), (source, "value")]
        )  # (H, T, K)
        if own and self.turned:
            q, k = rotated(q), rotated(k)
        found = attended(q, k, v, causal=own and self.causal)
        output = self.linear(side_by_side(found["heads"]), f"blocks.{name}.sublayer.output")
        self.keep(name, **found, output=output)
        return output

    def feed_forward(self, x: Array, name: str) -> Array:
        hidden = ACTIVATIONS[self.config["activation"]](self.linear(x, f"blocks.{name}.sublayer.expand"))
        output = self.linear(hidden, f"blocks.{name}.sublayer.contract")
        self.keep(name, hidden=hidden, output=output)
        return output

    def linear(self, x: Array, name: str) -> Array:
        return linear(self.weights, f"{self.prefix}.{name}", x)

    def norm(self, x: Array, name: str) -> Array:
        gain, bias = (self.weights[f"{self.prefix}.{name}.{part}"] for part in ("weight", "bias"))
        return normed(x, gain, bias, self.config["norm_eps"])

    def keep(self, name: str, **arrays: Array) -> None:
        for part, array in arrays.items():
            self.found[f"{self.name}.{name}.{part}"] = array


def recurrent_translator(trace: Trace, weights: Weights) -> dict[str, Array]:
    return recurrent(trace.config, weights, trace.side("encoder").ids, trace.side("decoder").ids)


KINDS = {"translator": translator, "recurrent": recurrent_translator, "gpt": gpt, "bert": bert, "vit": vit}
