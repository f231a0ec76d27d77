"""The explorer's self-check of a GPT: recompute it in NumPy from the weights alone."""

from qkv.tracing.formulas import Array, Stack, Weights
from qkv.tracing.trace import Trace


def recompute(trace: Trace, weights: Weights) -> dict[str, Array]:
    config, found, side = trace.config, dict[str, Array](), trace.side("decoder")
    tokens = weights["tokens.weight"][list(side.ids)]
    x = tokens
    if config["positions"] == "learned":
        found["decoder.positions"] = weights["positions.table"][: len(side.ids)]
        x = tokens + found["decoder.positions"]
    found |= {"decoder.tokens": tokens, "decoder.embedded": x}
    turned = config["positions"] == "rotary" and not trace.experiment.no_positions
    causal = not trace.experiment.no_mask
    x = Stack(weights, "decoder", side.stack, found, causal=causal, rotary=turned, prefix=side.weights)(x)
    found["logits"] = x @ weights["tokens.weight"].T
    return found
