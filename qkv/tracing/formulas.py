"""The decks' formulas in float64 NumPy, for the self-check. They share no code with the model."""

from collections.abc import Mapping
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def linear(weights: Weights, name: str, x: Array) -> Array:
    result: Array = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return result


def split(x: Array, heads: int) -> Array:
    return np.stack(np.split(x, heads, axis=-1))  # (T, D) -> (H, T, K)


def attention_steps(q: Array, k: Array, v: Array, *, causal: bool) -> dict[str, Array]:
    """softmax(QKᵀ / √K) V of every head, with all intermediate values."""
    scores = q @ k.transpose(0, 2, 1)  # (H, T, S)
    scaled = scores / np.sqrt(q.shape[-1])
    masked = scaled.copy()
    if causal:
        masked[:, np.tri(*scaled.shape[1:]) == 0] = -np.inf
    powers = np.exp(masked - masked.max(-1, keepdims=True))
    weights = powers / powers.sum(-1, keepdims=True)
    return {
        "query": q, "key": k, "value": v, "scores": scores, "scaled": scaled, "masked": masked, "weights": weights,
        "heads": weights @ v,
    }  # fmt: skip


def concatenate_heads(heads: Array) -> Array:
    return np.concatenate(list(heads), axis=-1)  # (H, T, K) -> (T, D)


def layer_norm(x: Array, gain: Array, bias: Array, eps: float) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    result: Array = (x - mean) / np.sqrt(variance + eps) * gain + bias
    return result


def sinusoid(length: int, width: int, layout: str) -> Array:
    table = np.zeros((length, width))
    for column in range(width):
        angle = np.arange(length) / 10_000 ** (2 * (column // 2) / width)
        table[:, column] = np.cos(angle) if column % 2 else np.sin(angle)
    if layout == "halves":
        table = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)
    # The model stores its table in float32.
    return table.astype(np.float32).astype(np.float64)


def rotate(x: Array) -> Array:
    """Rotary positions: columns i and i + K/2 of row t are a point that is rotated by t / 10000^(2i/K)."""
    _, length, width = x.shape
    half = width // 2
    angle = np.arange(length)[:, None] / 10_000 ** (2 * np.arange(half) / width)
    point = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([point.real, point.imag], axis=-1)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    result: Array = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return result


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


def swish(x: Array) -> Array:
    return x * sigmoid(x)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "swish": swish}


class Stack:
    """N blocks and, with pre-norm, a final norm. All values are stored in `found`."""

    def __init__(
        self,
        weights: Weights,
        name: str,
        config: dict[str, Any],
        found: dict[str, Array],
        *,
        causal: bool,
        rotary: bool = False,
        prefix: str | None = None,
        cell: str = "attention",
    ):
        self.weights, self.name, self.config, self.found = weights, name, config, found
        self.prefix = name if prefix is None else prefix  # of the names of its weights
        self.causal, self.rotary, self.cell = causal, rotary, cell
        self.pre = config["norm"] == "pre"

    def __call__(self, x: Array, memory: Array | None = None) -> Array:
        for block in range(self.config["depth"]):
            if self.cell == "ssru":
                x = self.residual(x, f"{block}.cell", self.ssru)
            else:
                x = self.residual(
                    x, f"{block}.attention", lambda y, name: self.attention(y, y, name, own=True)
                )
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
        if own and self.rotary:
            q, k = rotate(q), rotate(k)
        found = attention_steps(q, k, v, causal=own and self.causal)
        output = self.linear(concatenate_heads(found["heads"]), f"blocks.{name}.sublayer.output")
        self.keep(name, **found, output=output)
        return output

    def ssru(self, x: Array, name: str) -> Array:
        """c = f c + (1 − f) W x from position to position, and its positive part."""
        new = x @ self.weights[f"{self.prefix}.blocks.{name}.sublayer.input.weight"].T
        forget = sigmoid(self.linear(x, f"blocks.{name}.sublayer.forget"))
        states, state = [], np.zeros(x.shape[-1])
        for each, keep in zip(new, forget, strict=True):
            state = keep * state + (1 - keep) * each
            states.append(state)
        output = relu(np.stack(states))
        self.keep(name, input=new, forget=forget, state=np.stack(states), output=output)
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
        return layer_norm(x, gain, bias, self.config["norm_eps"])

    def keep(self, name: str, **arrays: Array) -> None:
        for part, array in arrays.items():
            self.found[f"{self.name}.{name}.{part}"] = array
