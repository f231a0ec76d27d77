"""The explorer's self-check of a BERT: recompute it in NumPy from the weights alone."""

from qkv.tracing.formulas import ACTIVATIONS, Array, Stack, Weights, layer_norm, linear
from qkv.tracing.trace import Trace


def recompute(trace: Trace, weights: Weights) -> dict[str, Array]:
    found, side = dict[str, Array](), trace.side("encoder")
    eps = side.stack["norm_eps"]
    tokens = weights["encoder.tokens.weight"][list(side.ids)]
    positions = weights["encoder.positions.table"][: len(side.ids)]
    total = tokens + weights["encoder.segments.weight"][0] + positions
    x = layer_norm(total, weights["encoder.norm.weight"], weights["encoder.norm.bias"], eps)
    found |= {"encoder.tokens": tokens, "encoder.positions": positions, "encoder.embedded": x}
    x = Stack(weights, "encoder", side.stack, found, causal=False, prefix=side.weights)(x)
    if "logits" in trace.arrays:
        y = linear(weights, "words.transform", x)
        y = layer_norm(
            ACTIVATIONS[side.stack["activation"]](y),
            weights["words.norm.weight"],
            weights["words.norm.bias"],
            eps,
        )
        found["logits"] = y @ weights["encoder.tokens.weight"].T + weights["words.bias"]
    return found
