"""Memory for weights: arrays that begin where cache lines begin, and live as long as they are used."""

import gc

import numpy as np

from qkv.engine.memory import BLOCK, LINE, PAGE, Memory, large_pages


def test_arrays_lie_one_behind_the_other_on_borders_of_cache_lines() -> None:
    memory = Memory()
    first, second = memory.empty((5,), np.float32), memory.empty((1, 2), np.int8)
    first[:], second[:] = range(5), [1, -2]
    assert first.tolist() == [0, 1, 2, 3, 4]
    assert second.tolist() == [[1, -2]]
    assert second.ctypes.data - first.ctypes.data == LINE
    assert large_pages(10).ctypes.data % PAGE == 0


def test_a_large_array_gets_its_own_block_and_outlives_the_memory() -> None:
    memory = Memory()
    small, large = memory.empty((3,), np.float32), memory.empty((BLOCK + 1,), np.int8)
    small[:], large[:] = 1, 7
    del memory
    gc.collect()
    assert small.tolist() == [1, 1, 1]
    assert (large == 7).all()
