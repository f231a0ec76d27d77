"""The settings of a stack as Hugging Face's BERT and ViT name them."""

from typing import Any, Literal

from qkv.core.stack_config import StackConfig
from qkv.hub.naming import Settings

ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "swish",
    "swish": "swish",
}  # fmt: skip
THEIR_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "swish": "silu"}


def stack_from(known: Settings, norm: Literal["pre", "post"], dropout: float) -> StackConfig:
    """`dropout` is the value if both of its settings are absent."""
    try:
        return StackConfig(
            depth=known.size("num_hidden_layers"),
            width=known.size("hidden_size"),
            heads=known.size("num_attention_heads"),
            ffn_width=known.size("intermediate_size"),
            norm=norm,
            activation=known.choice("hidden_act", ACTIVATIONS, "gelu"),
            dropout=known.share("hidden_dropout_prob", dropout),
            attention_dropout=known.share("attention_probs_dropout_prob", dropout),
            norm_eps=known.share("layer_norm_eps", 1e-12),
        )
    except ValueError as error:
        raise known.fault(f"this model cannot be built: {error}.") from None


def their_stack(stack: StackConfig) -> dict[str, Any]:
    return {
        "hidden_size": stack.width,
        "num_hidden_layers": stack.depth,
        "num_attention_heads": stack.heads,
        "intermediate_size": stack.ffn_width,
        "hidden_act": THEIR_ACTIVATIONS[stack.activation],
        "hidden_dropout_prob": stack.dropout,
        "attention_probs_dropout_prob": stack.attention_dropout,
        "layer_norm_eps": stack.norm_eps,
    }
