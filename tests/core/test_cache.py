"""The cache: cached values equal recomputed ones, for any chunks and any order of rows."""

from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from qkv.core.block import Stack
from qkv.core.cache import Cache, Fixed, Growing
from qkv.core.masks import causal_mask
from qkv.core.stack_config import StackConfig

B, T, S, H, K = 2, 5, 7, 3, 4
D, DEPTH = H * K, 2
Norm = Literal["pre", "post"]


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def decoder(norm: Norm = "post") -> Stack:
    torch.manual_seed(1)
    config = StackConfig(
        depth=DEPTH, width=D, heads=H, ffn_width=13, norm=norm, activation="gelu", dropout=0.1
    )
    return Stack(config, cross=True).eval()


def whole(stack: Stack, x: Tensor, memory: Tensor) -> Tensor:
    return stack(x, mask=causal_mask(x.shape[1], x.shape[1]), memory=memory)


def further(stack: Stack, x: Tensor, memory: Tensor, cache: Cache) -> Tensor:
    """The next positions, given the cache of those before."""
    mask = causal_mask(x.shape[1], cache.length + x.shape[1])
    return stack(x, mask=mask, memory=memory, cache=cache)


def pair(tensor: Tensor) -> tuple[Tensor, Tensor]:
    return tensor, -tensor


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("chunks", [[1] * 5, [5], [2, 3], [3, 1, 1], [1, 4]], ids=str)
@torch.no_grad()
def test_cached_equals_uncached_in_chunks_of_any_size(norm: Norm, chunks: list[int]) -> None:
    stack, x, memory, cache = decoder(norm), seeded(B, T, D), seeded(B, S, D, seed=1), Cache(DEPTH)
    parts = [further(stack, part, memory, cache) for part in x.split(chunks, dim=1)]
    assert cache.length == T
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(stack, x, memory), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [[1, 0], [1, 1], [0], [1, 0, 1, 1]], ids=str)
@torch.no_grad()
def test_cached_equals_uncached_after_rows_are_reordered_repeated_and_dropped(rows: list[int]) -> None:
    stack, x, memory, cache = decoder(), seeded(B, T, D), seeded(B, S, D, seed=1), Cache(DEPTH)
    further(stack, x[:, :3], memory, cache)
    cache.select(torch.tensor(rows))
    x, memory = x[rows].clone(), memory[rows]
    x[:, 3:] = seeded(len(rows), T - 3, D, seed=2)  # beams of one sentence go different ways
    parts = [further(stack, x[:, position : position + 1], memory, cache) for position in range(3, T)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(stack, x, memory)[:, 3:], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_cached_equals_uncached_where_the_buffers_have_grown_twice() -> None:
    stack, x, memory, cache = decoder(), seeded(B, 70, D), seeded(B, S, D, seed=1), Cache(DEPTH)
    capacities, parts = set(), []
    for part in x.split(3, dim=1):
        parts.append(further(stack, part, memory, cache))
        keys = cache.blocks[0].own.keys
        assert keys is not None
        capacities.add(keys.shape[2])
    assert len(capacities) >= 3
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(stack, x, memory), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_source_keys_and_values_are_projected_once_per_sentence_and_own_ones_once_per_step() -> None:
    stack, x, memory, cache = decoder(), seeded(B, T, D), seeded(B, S, D, seed=1), Cache(DEPTH)
    calls: dict[str, int] = {}

    def count(name: str) -> None:
        def hook(module: nn.Module, arguments: object, output: Tensor) -> None:
            calls[name] = calls.get(name, 0) + 1

        stack.get_submodule(name).register_forward_hook(hook)

    names = {
        (sublayer, part): [f"blocks.{index}.{sublayer}.sublayer.{part}" for index in range(DEPTH)]
        for sublayer in ("attention", "cross_attention")
        for part in ("key", "value")
    }
    for several in names.values():
        for name in several:
            count(name)
    for position in range(T):
        further(stack, x[:, position : position + 1], memory, cache)
        cache.select(torch.tensor([1, 0]))
        memory = memory[[1, 0]]
    for (sublayer, _), wanted in names.items():
        assert [calls[name] for name in wanted] == [1 if sublayer == "cross_attention" else T] * DEPTH


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 21), min_size=1, max_size=6), st.booleans())
def test_a_growing_buffer_keeps_its_content(lengths: list[int], reordered: bool) -> None:
    slot, everything = Growing(), torch.empty(B, H, 0, K)
    for seed, length in enumerate(lengths):
        new = seeded(B, H, length, K, seed=seed)
        everything = torch.cat([everything, new], dim=2)
        keys, values = slot.update(pair, new)
        assert torch.equal(keys, everything)
        assert torch.equal(values, -everything)
        if reordered:
            slot.select(torch.tensor([1, 0]))
            everything = everything[[1, 0]]
    assert slot.length == sum(lengths)


def test_a_growing_buffer_is_moved_seldom() -> None:
    slot, places = Growing(), set()
    for _ in range(200):
        slot.update(pair, torch.zeros(B, H, 1, K))
        assert slot.keys is not None
        places.add(slot.keys.shape[2])
    assert len(places) <= 5


def test_a_fixed_slot_ignores_every_source_but_the_first() -> None:
    slot, first = Fixed(), seeded(B, H, S, K)
    slot.update(pair, first)
    keys, values = slot.update(pair, seeded(B, H, S, K, seed=1))
    assert torch.equal(keys, first)
    assert torch.equal(values, -first)


def test_selecting_rows_of_a_cache_that_is_still_empty_is_harmless() -> None:
    cache = Cache(DEPTH)
    cache.select(torch.tensor([0, 0, 1]))
    assert cache.length == 0


@torch.no_grad()
def test_two_decodings_of_one_model_do_not_disturb_each_other() -> None:
    stack, x, memory = decoder(), seeded(B, T, D), seeded(B, S, D, seed=1)
    one, other = Cache(DEPTH), Cache(DEPTH)
    parts = []
    for position in range(T):
        parts.append(further(stack, x[:, position : position + 1], memory, one))
        further(stack, -x[:, position : position + 1], -memory, other)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(stack, x, memory), atol=1e-5, rtol=1e-5)
