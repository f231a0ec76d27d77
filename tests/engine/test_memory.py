"""Memory for weights: copies that begin where cache lines begin, and live as long as they are used."""

import gc

import torch

from qkv.engine.memory import BLOCK, LINE, PAGE, Memory, large_pages


def test_tensors_lie_one_behind_the_other_on_borders_of_cache_lines() -> None:
    memory = Memory()
    first, second = memory.placed(torch.arange(5.0)), memory.placed(torch.tensor([[1, -2]], dtype=torch.int8))
    assert first.tolist() == [0, 1, 2, 3, 4]
    assert second.tolist() == [[1, -2]]
    assert second.data_ptr() - first.data_ptr() == LINE
    assert large_pages(10).data_ptr() % PAGE == 0


def test_a_large_tensor_gets_its_own_block_and_outlives_the_memory() -> None:
    memory = Memory()
    small, large = memory.placed(torch.ones(3)), memory.placed(torch.full((BLOCK + 1,), 7, dtype=torch.int8))
    del memory
    gc.collect()
    assert small.tolist() == [1, 1, 1]
    assert (large == 7).all()
