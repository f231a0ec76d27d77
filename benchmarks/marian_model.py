"""Hugging Face transformers' Marian in a size of our choice."""

from typing import Any, Protocol

from qkv.text.tokenizer import Tokenizer


class Size(Protocol):
    """What the settings of any benchmark say of a model."""

    @property
    def depth(self) -> int: ...  # of the encoder, and of the decoder

    @property
    def width(self) -> int: ...

    @property
    def hidden(self) -> int: ...

    @property
    def heads(self) -> int: ...

    @property
    def dropout(self) -> float: ...


def new_marian(tokenizer: Tokenizer, size: Size) -> Any:
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=len(tokenizer),
            d_model=size.width,
            encoder_layers=size.depth,
            decoder_layers=size.depth,
            encoder_attention_heads=size.heads,
            decoder_attention_heads=size.heads,
            encoder_ffn_dim=size.hidden,
            decoder_ffn_dim=size.hidden,
            dropout=size.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=tokenizer.pad,
            eos_token_id=tokenizer.end,
            decoder_start_token_id=tokenizer.start,
            forced_eos_token_id=None,
            attn_implementation="eager",  # faster than SDPA on a CPU at these sizes
        )
    )
