"""The functions between linear layers: softmax, layer norm and activations, in float32."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qkv.engine.rounding import Floats

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def softmax(x: Floats) -> Floats:
    shares: Floats = np.exp(x - x.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return shares


def log_softmax(x: Floats) -> Floats:
    below: Floats = x - x.max(-1, keepdims=True)
    below -= np.log(np.exp(below).sum(-1, keepdims=True))
    return below


def normed(x: Floats, weight: Floats, bias: Floats, eps: float) -> Floats:
    away = x - x.mean(-1, keepdims=True)
    variance = np.square(away).mean(-1, keepdims=True)
    away /= np.sqrt(variance + eps)
    away *= weight
    away += bias
    return away


def sigmoid(x: Floats) -> Floats:
    """As a tanh, which cannot overflow."""
    return 0.5 * np.tanh(0.5 * x) + 0.5


def relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def gelu(x: Floats) -> Floats:
    """x Φ(x), with the error function of Abramowitz and Stegun, 7.1.26. Φ is off by less than 3e-7 in float32.

    The compiled engine uses the same formula; NumPy has no error function. In place, because memory is the bottleneck.
    """
    size = np.abs(x)
    z = size * 0.5**0.5
    t = 0.3275911 * z
    t += 1
    np.reciprocal(t, out=t)
    tail = 1.061405429 * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += coefficient
        tail *= t
    z *= z
    np.negative(z, out=z)
    tail *= np.exp(z, out=z)  # twice 1 − Φ(|x|)
    tail *= size
    tail *= -0.5
    tail += np.maximum(x, 0)  # x Φ(x) = max(x, 0) − |x| (1 − Φ(|x|))
    return tail


def gelu_tanh(x: Floats) -> Floats:
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x * x * x)))


def swish(x: Floats) -> Floats:
    return x * sigmoid(x)


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "swish": swish,
}
