"""GPT-1 and GPT-2 as Hugging Face's library names and lays out their weights, and as we do."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from qkv.core.block import StackConfig
from qkv.errors import UserError
from qkv.models.gpt import GPTConfig

PARTS = {
    "wte": "tokens",
    "tokens_embed": "tokens",
    "wpe": "positions",
    "positions_embed": "positions",
    "h": "stack.blocks",
    "ln_1": "attention.norm",
    "ln_2": "feed_forward.norm",
    "attn": "attention.sublayer",
    "mlp": "feed_forward.sublayer",
    "c_fc": "expand",
    "ln_f": "stack.norm",
}
PROJECTIONS = {"attn": "output", "mlp": "contract"}  # both are called c_proj
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}


def gpt_config(theirs: Mapping[str, Any], end: int) -> GPTConfig:
    """Our architecture for the content of their config.json; `end` is the token between documents."""
    kind = theirs.get("model_type")
    if kind not in ("gpt2", "openai-gpt"):
        raise UserError(f"a model of type '{kind}' is neither gpt2 nor openai-gpt.")
    activation = theirs["activation_function"] if kind == "gpt2" else "gelu_new"  # what GPT-1 calls gelu
    if activation not in ACTIVATIONS:
        raise UserError(f"the activation '{activation}' is not known: {', '.join(ACTIVATIONS)} are.")
    width = theirs["n_embd"]
    stack: dict[str, Any] = {
        "depth": theirs["n_layer"],
        "width": width,
        "heads": theirs["n_head"],
        "hidden": theirs.get("n_inner") or 4 * width,
        "norm": "pre" if kind == "gpt2" else "post",
        "activation": ACTIVATIONS[activation],
        "dropout": theirs["resid_pdrop"],
        "attention_dropout": theirs["attn_pdrop"],
        "norm_eps": theirs["layer_norm_epsilon"],
    }
    return GPTConfig(
        vocab=theirs["vocab_size"],
        context=theirs["n_positions"],
        end=end,
        positions="learned",
        stack=StackConfig(**stack),
    )


def gpt_weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names. Theirs multiply from the right, and hold query, key and value as one."""
    return {name: tensor for each in theirs.items() for name, tensor in renamed(*each)}


def renamed(name: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    parts = name.removeprefix("transformer.").split(".")
    if parts[0] == "lm_head" or (parts[-2:] in (["attn", "bias"], ["attn", "masked_bias"])):
        return  # the output is tied to the tokens; the causal mask is no weight
    if parts[0] in ("wpe", "positions_embed"):
        yield "positions.table", tensor
        return
    owner, kind = parts[-2], parts[-1]
    before = [PARTS.get(part, part) for part in parts[:-2]]
    if owner in ("c_attn", "c_proj", "c_fc") and kind == "weight":
        tensor = tensor.T
    if owner == "c_attn":
        for ours, part in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
            yield ".".join([*before, ours, kind]), part.contiguous()
    else:
        ours = PROJECTIONS[parts[-3]] if owner == "c_proj" else PARTS.get(owner, owner)
        yield ".".join([*before, ours, kind]), tensor.contiguous()
