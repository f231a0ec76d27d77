"""int8: what is rounded comes back nearly the same, and no sum of the fastest loop overflows."""

import torch

from qkv.engine.rounding import LEVELS, heads_apart, rounded, rounded_rows


def test_weights_come_back_within_half_a_step() -> None:
    weight = torch.randn(7, 48, generator=torch.Generator().manual_seed(1))
    whole, scale = rounded(weight)
    assert whole.abs().max() <= 127
    assert ((whole * scale[:, None] - weight).abs() <= 0.5001 * scale[:, None]).all()


def test_the_worst_inputs_keep_every_sum_within_16_bits() -> None:
    generator = torch.Generator().manual_seed(2)
    weight = torch.cat([torch.randn(5, 64, generator=generator), torch.ones(1, 64), -torch.ones(1, 64)])
    whole, _ = rounded(weight)
    eights = whole.view(7, -1, 4, 2, 2)
    for worst in (eights.clamp(min=0), eights.clamp(max=0)):
        sums = LEVELS * worst.sum((2, 4))
        assert sums.max() <= 32_767
        assert sums.min() >= -32_768


def test_rows_come_back_within_half_a_step_and_zeros_are_harmless() -> None:
    rows = torch.cat([torch.randn(3, 20, generator=torch.Generator().manual_seed(3)) + 5, torch.zeros(1, 20)])
    whole, step, low = rounded_rows(rows)
    assert whole.min() >= 0
    assert whole.max() <= LEVELS
    assert ((low + step * whole - rows).abs() <= 0.501 * step).all()


def test_heads_stand_apart_with_zeros_between() -> None:
    apart = heads_apart(torch.ones(2, 3 * 5), 3)
    assert apart.shape == (2, 3 * 16)
    assert apart.view(2, 3, 16)[..., 5:].eq(0).all()
    assert apart.sum() == 30
