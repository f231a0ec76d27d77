"""The explorer's self-check of a translator: all values recomputed in NumPy from the weights."""

from typing import Any

import numpy as np

from qkv.families.translator.recompute_recurrent import recurrent
from qkv.tracing.formulas import Array, Stack, Weights, sinusoid
from qkv.tracing.trace import Trace


def recompute(trace: Trace, weights: Weights) -> dict[str, Array]:
    source, target = trace.side("encoder"), trace.side("decoder")
    if target.attention is not None:  # only LSTMs have attention outside blocks
        return recurrent(trace.config, weights, source.ids, target.ids)
    return transformer(trace, weights)


def transformer(trace: Trace, weights: Weights) -> dict[str, Array]:
    config, found = trace.config, dict[str, Array]()
    source, target = trace.side("encoder"), trace.side("decoder")
    experiment = trace.experiment
    x, memory = None, None
    for side in (source, target):
        tokens = weights[str(side.embedding)][list(side.ids)] * config["encoder"]["width"] ** 0.5
        positions = positions_of(config, weights, side.name, len(side.ids))
        if positions is not None:
            positions = np.zeros_like(positions) if experiment.no_positions else positions
            found[f"{side.name}.positions"] = positions
        x = tokens if positions is None else tokens + positions
        found |= {f"{side.name}.tokens": tokens, f"{side.name}.embedded": x}
        turned = config["positions"] == "rotary" and not experiment.no_positions
        causal = side is target and not experiment.no_mask
        cell = config["decoder_cell"] if side is target else "attention"
        stack = Stack(weights, side.name, config[side.name], found, causal=causal, rotary=turned, cell=cell)
        x = stack(x, memory)
        memory = x
    assert x is not None
    found["logits"] = x @ weights[str(trace.output_weight)].T + weights.get(
        "bias", 0.0
    )  # Marian's models have an output bias
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
