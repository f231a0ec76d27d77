"""The SSRU cell is Marian's formula, its gradient is right, and cached states equal recomputed ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from qkv.core.block import Stack
from qkv.core.cache import Cache
from qkv.core.cell import SSRU, Recurrence
from qkv.core.products import ByTorch, multiplied_by
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

B, T, S, D, DEPTH = 2, 5, 7, 12, 2
STACK = StackConfig(
    depth=DEPTH, width=D, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0, norm_eps=1e-6
)


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def decoder() -> Stack:
    torch.manual_seed(1)
    stack = Stack(STACK, cross=True, cell="ssru").eval()
    for parameter in stack.parameters():
        parameter.data += torch.randn_like(parameter) * 0.1
    return stack


def marian(x: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Marian's DecoderLayerRNN with dec-cell ssru and postprocess dan, spelled out for one sentence: (T, D)."""
    cell, outputs = np.zeros(D), []
    for row in x:
        new = row @ weights["W"]
        forget = 1 / (1 + np.exp(-(row @ weights["Wf"] + weights["bf"])))
        cell = forget * cell + (1 - forget) * new  # highway(cell, x, f)
        total = np.maximum(cell, 0) + row
        normed = (total - total.mean()) / np.sqrt(total.var() + STACK.norm_eps)
        outputs.append(weights["ffn_ln_scale"] * normed + weights["ffn_ln_bias"])
    return np.stack(outputs)


@torch.no_grad()
def test_a_sublayer_is_marians_formula_with_marians_parameters() -> None:
    residual = decoder().blocks[0].cell
    state = {name: tensor.double().numpy() for name, tensor in residual.state_dict().items()}
    theirs = {
        "W": state.pop("sublayer.input.weight").T,
        "Wf": state.pop("sublayer.forget.weight").T,
        "bf": state.pop("sublayer.forget.bias"),
        "ffn_ln_scale": state.pop("norm.weight"),
        "ffn_ln_bias": state.pop("norm.bias"),
    }
    assert not state  # Marian has nothing more
    x = seeded(B, T, D)
    for found, sentence in zip(residual(x), x.double().numpy(), strict=True):
        np.testing.assert_allclose(found, marian(sentence, theirs), atol=1e-5)


def test_the_gradient_of_the_recurrence_is_right() -> None:
    new, keep, start = seeded(B, T, 3), seeded(B, T, 3, seed=1).sigmoid(), seeded(B, 3, seed=2)
    given = [each.double().requires_grad_() for each in (new, keep, start)]
    assert torch.autograd.gradcheck(Recurrence.apply, given)


def test_other_products_give_the_same_gradient_without_a_bias() -> None:
    torch.manual_seed(1)
    cell, x = SSRU(D), seeded(B, T, D)
    cell(x).square().sum().backward()
    wanted = [parameter.grad for parameter in cell.parameters()]
    cell.zero_grad()
    with multiplied_by(ByTorch(torch.float32, torch.float32)):
        cell(x).square().sum().backward()
    for parameter, gradient in zip(cell.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_states_are_not_rounded_under_autocast() -> None:
    cell = SSRU(D)
    with torch.autocast("cpu", torch.bfloat16):
        assert cell(seeded(B, T, D)).dtype == torch.float32


@pytest.mark.parametrize("chunks", [[1] * 5, [5], [2, 3], [3, 1, 1]], ids=str)
@torch.no_grad()
def test_cached_equals_uncached_in_chunks_of_any_size(chunks: list[int]) -> None:
    stack, x, memory, cache = decoder(), seeded(B, T, D), seeded(B, S, D, seed=1), Cache(DEPTH, "ssru")
    parts = [stack(part, memory=memory, cache=cache) for part in x.split(chunks, dim=1)]
    assert cache.length == T
    torch.testing.assert_close(torch.cat(parts, dim=1), stack(x, memory=memory), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_cached_equals_uncached_after_rows_are_reordered_repeated_and_dropped() -> None:
    stack, x, memory, cache = decoder(), seeded(B, T, D), seeded(B, S, D, seed=1), Cache(DEPTH, "ssru")
    stack(x[:, :3], memory=memory, cache=cache)
    rows = [1, 0, 1]
    cache.select(torch.tensor(rows))
    x, memory = x[rows].clone(), memory[rows]
    x[:, 3:] = seeded(len(rows), T - 3, D, seed=2)  # beams of one sentence go different ways
    found = stack(x[:, 3:], memory=memory, cache=cache)
    torch.testing.assert_close(found, stack(x, memory=memory)[:, 3:], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_padding_and_later_tokens_change_nothing() -> None:
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab_size=23,
        max_length=16,
        pad=0,
        start=1,
        end=2,
        positions="interleaved",
        encoder=replace(STACK, depth=3),
        decoder=STACK,
        decoder_cell="ssru",
    )
    model = Translator(config).eval()
    source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7, 8]])
    alone = model(source, target)
    padded = model(torch.tensor([[5, 6, 2, 0, 0]]), torch.tensor([[1, 7, 8, 9, 0]]))
    torch.testing.assert_close(padded[:, :3], alone, atol=1e-5, rtol=1e-5)
