"""The explorer's self-check of a recurrent translator: every recorded value, recomputed from the weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qkv.tracing.formulas import Array, Weights, attention_steps, concatenate_heads, linear, sigmoid, split


def recurrent(
    config: Mapping[str, Any], weights: Weights, source: Sequence[int], shifted: Sequence[int]
) -> dict[str, Array]:
    """The values of one sentence, by their names on the tape."""
    found: dict[str, Array] = {}
    embedding = weights["tokens.weight"]
    x = found["encoder.tokens"] = embedding[list(source)] * config["width"] ** 0.5
    for depth in range(config["encoder_depth"]):
        onward = lstm(weights, f"encoder.{depth}.onward", x)
        back = lstm(weights, f"encoder.{depth}.back", x[::-1])[::-1]
        both = np.concatenate([onward, back], axis=-1)
        x = found[f"encoder.{depth}.states"] = x + both if depth else both
    memory = found["encoder.output"] = x
    first = np.tanh(linear(weights, "first_states", memory.mean(0)))
    x = found["decoder.tokens"] = embedding[list(shifted)] * config["width"] ** 0.5
    for depth, state in enumerate(np.split(first, config["decoder_depth"])):
        y = lstm(weights, f"decoder.{depth}", x, state)
        x = found[f"decoder.{depth}.states"] = x + y if depth else y
        if depth == 0:
            attended_to = attend(config["heads"], weights, x, memory)
            x = attended_to["result"]
            found |= {f"decoder.0.cross_attention.{part}": array for part, array in attended_to.items()}
    words = found["decoder.output"] = linear(weights, "to_words", x)
    found["logits"] = words @ embedding.T
    return found


def lstm(weights: Weights, name: str, x: Array, state: Array | None = None) -> Array:
    """The hidden state after every token, (T, F). The cell state begins at zero."""
    from_below, from_before = weights[f"{name}.weight_ih_l0"], weights[f"{name}.weight_hh_l0"]
    bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
    hidden = from_before.shape[1]
    state, cell, rows = np.zeros(hidden) if state is None else state, np.zeros(hidden), []
    for row in x:
        enter, forget, new, leave = np.split(from_below @ row + from_before @ state + bias, 4)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = sigmoid(leave) * np.tanh(cell)
        rows.append(state)
    return np.stack(rows)


def attend(heads: int, weights: Weights, x: Array, memory: Array) -> dict[str, Array]:
    """The attention of the first LSTM on the memory, and tanh(W [c; h])."""
    q, k, v = (
        split(linear(weights, f"cross_attention.{part}", each), heads)
        for part, each in [("query", x), ("key", memory), ("value", memory)]
    )  # (H, T, K)
    found = attention_steps(q, k, v, causal=False)
    output = linear(weights, "cross_attention.output", concatenate_heads(found["heads"]))
    result = np.tanh(linear(weights, "combine", np.concatenate([output, x], axis=-1)))
    return {**found, "output": output, "result": result}
