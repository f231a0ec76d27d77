"""The block equals torch's own encoder and decoder layers on random weights."""

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from qkv.core.block import Block, Residual
from qkv.core.masks import causal_mask
from qkv.core.stack_config import StackConfig

B, T, S, H, K, F = 2, 5, 7, 3, 4, 13
D = H * K
Norm = Literal["pre", "post"]

norms = pytest.mark.parametrize("norm", ["pre", "post"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])
modes = pytest.mark.parametrize("training", [False, True], ids=["evaluating", "training"])


def config(norm: Norm, activation: Any) -> StackConfig:
    return StackConfig(
        depth=1, width=D, heads=H, ffn_width=F, norm=norm, activation=activation, dropout=0.0, norm_eps=1e-4
    )


def options(norm: Norm, activation: str) -> dict[str, Any]:
    return {
        "d_model": D,
        "nhead": H,
        "dim_feedforward": F,
        "dropout": 0.0,
        "activation": activation,
        "layer_norm_eps": 1e-4,
        "batch_first": True,
        "norm_first": norm == "pre",
    }


def randomise(layer: nn.Module) -> None:
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)


@torch.no_grad()
def copy_attention(ours: Residual, theirs: nn.MultiheadAttention, norm: nn.LayerNorm) -> None:
    attention: Any = ours.sublayer
    linears = (attention.query, attention.key, attention.value)
    for linear, weight, bias in zip(
        linears, theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
    ):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    attention.output.load_state_dict(theirs.out_proj.state_dict())
    ours.norm.load_state_dict(norm.state_dict())


def copy_feed_forward(ours: Residual, theirs: Any, norm: nn.LayerNorm) -> None:
    feed_forward: Any = ours.sublayer
    feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    feed_forward.contract.load_state_dict(theirs.linear2.state_dict())
    ours.norm.load_state_dict(norm.state_dict())


def encoder_pair(norm: Norm, activation: str) -> tuple[Block, nn.TransformerEncoderLayer]:
    ours = Block(config(norm, activation), cross=False, cell="attention")
    theirs = nn.TransformerEncoderLayer(**options(norm, activation))
    randomise(theirs)
    copy_attention(ours.attention, theirs.self_attn, theirs.norm1)
    copy_feed_forward(ours.feed_forward, theirs, theirs.norm2)
    return ours, theirs


def decoder_pair(norm: Norm, activation: str) -> tuple[Block, nn.TransformerDecoderLayer]:
    ours = Block(config(norm, activation), cross=True, cell="attention")
    theirs = nn.TransformerDecoderLayer(**options(norm, activation))
    randomise(theirs)
    assert ours.cross_attention is not None
    copy_attention(ours.attention, theirs.self_attn, theirs.norm1)
    copy_attention(ours.cross_attention, theirs.multihead_attn, theirs.norm2)
    copy_feed_forward(ours.feed_forward, theirs, theirs.norm3)
    return ours, theirs


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def real(length: int, *lengths: int) -> Tensor:
    return torch.arange(length) < torch.tensor(lengths)[:, None]  # (B, S), True where there is a word


@norms
@activations
@modes
def test_a_block_equals_torchs_encoder_layer(norm: Norm, activation: str, training: bool) -> None:
    ours, theirs = encoder_pair(norm, activation)
    ours.train(training)
    theirs.train(training)  # torch has a separate fast path for evaluating
    x, words = seeded(B, S, D), real(S, 7, 4)
    y = ours(
        x, mask=words[:, None, None, :], rotation=None, memory=None, memory_mask=None, cache=None, tape=None
    )
    wanted = theirs(x, src_key_padding_mask=~words)
    torch.testing.assert_close(y[words], wanted[words], atol=1e-5, rtol=1e-5)  # torch may blank padding


@norms
def test_a_causal_block_equals_torchs_encoder_layer(norm: Norm) -> None:
    ours, theirs = encoder_pair(norm, "relu")
    x, mask = seeded(B, T, D), causal_mask(T, T)
    y = ours(x, mask=mask, rotation=None, memory=None, memory_mask=None, cache=None, tape=None)
    torch.testing.assert_close(y, theirs(x, src_mask=~mask), atol=1e-5, rtol=1e-5)


@norms
@activations
@modes
def test_a_block_with_cross_attention_equals_torchs_decoder_layer(
    norm: Norm, activation: str, training: bool
) -> None:
    ours, theirs = decoder_pair(norm, activation)
    ours.train(training)
    theirs.train(training)
    x, memory, mask, words = seeded(B, T, D), seeded(B, S, D, seed=1), causal_mask(T, T), real(S, 7, 4)
    y = ours(
        x, mask=mask, rotation=None, memory=memory, memory_mask=words[:, None, None, :], cache=None, tape=None
    )
    wanted = theirs(x, memory, tgt_mask=~mask, memory_key_padding_mask=~words)
    torch.testing.assert_close(y, wanted, atol=1e-5, rtol=1e-5)


@norms
def test_gradients_equal_those_of_torchs_decoder_layer(norm: Norm) -> None:
    ours, theirs = decoder_pair(norm, "relu")
    mask, words, wanted = causal_mask(T, T), real(S, 7, 4), seeded(B, T, D, seed=2)
    gradients = []
    for layer in (ours, theirs):
        x, memory = seeded(B, T, D).requires_grad_(), seeded(B, S, D, seed=1).requires_grad_()
        if layer is ours:
            y = ours(
                x,
                mask=mask,
                rotation=None,
                memory=memory,
                memory_mask=words[:, None, None, :],
                cache=None,
                tape=None,
            )
        else:
            y = theirs(x, memory, tgt_mask=~mask, memory_key_padding_mask=~words)
        gradients.append(torch.autograd.grad((y * wanted).sum(), [x, memory]))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-4)
