"""The recurrent translator once more, in float64 by NumPy, from its weights alone: every number that a tape records."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def recurrent(
    config: Any, weights: Weights, source: Sequence[int], shifted: Sequence[int]
) -> dict[str, Array]:
    """Of one sentence, by the names on the tape; `config` is a mapping."""
    found: dict[str, Array] = {}
    embedding = weights["tokens.weight"]
    x = found["encoder.tokens"] = embedding[list(source)] * config["width"] ** 0.5
    for depth in range(config["encoder_depth"]):
        onward = lstm(weights, f"encoder.{depth}.onward", x)[0]
        back = lstm(weights, f"encoder.{depth}.back", x[::-1])[0][::-1]
        both = np.concatenate([onward, back], axis=-1)
        x = found[f"encoder.{depth}.states"] = x + both if depth else both
    memory = found["encoder.output"] = x
    first = np.tanh(linear(weights, "first_states", memory.mean(0)))
    x = found["decoder.tokens"] = embedding[list(shifted)] * config["width"] ** 0.5
    for depth, shown in enumerate(np.split(first, config["decoder_depth"])):
        said = lstm(weights, f"decoder.{depth}", x, shown)[0]
        x = found[f"decoder.{depth}.states"] = x + said if depth else said
        if depth == 0:
            x = look(config, weights, x, memory, found)
    words = found["decoder.output"] = linear(weights, "to_words", x)
    found["logits"] = words @ embedding.T
    return found


def lstm(weights: Weights, name: str, x: Array, shown: Array | None = None) -> tuple[Array, Array]:
    """What is shown after every word, (T, F), and what is kept at the end."""
    from_below, from_before = weights[f"{name}.weight_ih_l0"], weights[f"{name}.weight_hh_l0"]
    bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
    hidden = from_before.shape[1]
    shown, kept, rows = np.zeros(hidden) if shown is None else shown, np.zeros(hidden), []
    for row in x:
        enter, forget, new, leave = np.split(from_below @ row + from_before @ shown + bias, 4)
        kept = sigmoid(forget) * kept + sigmoid(enter) * np.tanh(new)
        shown = sigmoid(leave) * np.tanh(kept)
        rows.append(shown)
    return np.stack(rows), kept


def look(config: Any, weights: Weights, x: Array, memory: Array, found: dict[str, Array]) -> Array:
    name = "cross_attention"
    q, k, v = (
        np.stack(np.split(linear(weights, f"{name}.{part}", each), config["heads"], axis=-1))
        for part, each in [("query", x), ("key", memory), ("value", memory)]
    )  # (H, T, K)
    scores = q @ k.transpose(0, 2, 1)  # (H, T, S)
    scaled = scores / np.sqrt(q.shape[-1])
    powers = np.exp(scaled - scaled.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    heads = shares @ v
    output = linear(weights, f"{name}.output", np.concatenate(list(heads), axis=-1))
    result: Array = np.tanh(linear(weights, "combine", np.concatenate([output, x], axis=-1)))
    parts = {
        "query": q, "key": k, "value": v, "scores": scores, "scaled": scaled, "masked": scaled, "weights": shares,
        "heads": heads, "output": output, "result": result,
    }  # fmt: skip
    found.update({f"decoder.0.{name}.{part}": array for part, array in parts.items()})
    return result


def linear(weights: Weights, name: str, x: Array) -> Array:
    result: Array = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return result


def sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result
