"""int8: what is rounded comes back nearly the same, and no sum of the fastest loop overflows."""

import numpy as np

from qkv.engine.rounding import LEVELS, heads_apart, padded, rounded, rounded_rows


def normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def test_weights_come_back_within_half_a_step() -> None:
    weight = normal(7, 48, seed=1)
    whole, scale = rounded(weight)
    assert whole.dtype == scale.dtype == np.float32
    assert np.abs(whole).max() <= 127
    assert (np.abs(whole * scale[:, None] - weight) <= 0.5001 * scale[:, None]).all()


def test_the_worst_inputs_keep_every_sum_within_16_bits() -> None:
    ones = np.ones((1, 64), np.float32)
    whole, _ = rounded(np.concatenate([normal(5, 64, seed=2), ones, -ones]))
    eights = whole.reshape(7, -1, 4, 2, 2)
    for worst in (np.maximum(eights, 0), np.minimum(eights, 0)):
        sums = LEVELS * worst.sum((2, 4))
        assert sums.max() <= 32_767
        assert sums.min() >= -32_768


def test_rows_come_back_within_half_a_step_and_zeros_are_harmless() -> None:
    rows = np.concatenate([normal(3, 20, seed=3) + 5, np.zeros((1, 20), np.float32)])
    whole, step, low = rounded_rows(rows)
    assert whole.dtype == step.dtype == low.dtype == np.float32
    assert whole.min() >= 0
    assert whole.max() <= LEVELS
    assert (np.abs(low + step * whole - rows) <= 0.501 * step).all()


def test_padding_adds_only_zeros() -> None:
    assert padded(np.ones((5, 17), np.float32)).shape == (16, 32)
    assert padded(np.ones((5, 17), np.float32)).sum() == 5 * 17


def test_heads_stand_apart_with_zeros_between() -> None:
    apart = heads_apart(np.ones((2, 3 * 5), np.float32), 3)
    assert apart.shape == (2, 3 * 16)
    assert (apart.reshape(2, 3, 16)[..., 5:] == 0).all()
    assert apart.sum() == 30
