"""Positions: two layouts of one sinusoid, learned ones and rotary ones, none of which ends silently."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.core.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, rotate, sinusoid


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 13), st.data())
def test_every_cell_is_the_papers_formula(length: int, width: int, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, length - 1))
    column = data.draw(st.integers(0, width - 1))
    wave = math.cos if column % 2 else math.sin
    wanted = wave(position / 10_000 ** ((column - column % 2) / width))
    assert sinusoid(length, width, "interleaved")[position, column].item() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("width", [1, 2, 5, 12, 13])
def test_halves_is_a_permutation_of_the_columns_of_interleaved(width: int) -> None:
    interleaved, halves = sinusoid(9, width, "interleaved"), sinusoid(9, width, "halves")
    sines = (width + 1) // 2  # an odd width has one sine more than it has cosines
    assert halves.shape == (9, width)
    assert torch.equal(halves[:, :sines], interleaved[:, 0::2])
    assert torch.equal(halves[:, sines:], interleaved[:, 1::2])


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_every_position_differs_from_every_other(layout: str) -> None:
    table = sinusoid(1000, 12, layout)  # type: ignore[arg-type]
    assert len(torch.unique(table, dim=0)) == 1000


def test_far_positions_are_as_exact_as_near_ones() -> None:
    """Angles in single precision would be off by 1e-3 here."""
    far = sinusoid(50_001, 4, "interleaved")[50_000]
    wanted = [math.sin(50_000), math.cos(50_000), math.sin(500), math.cos(500)]
    torch.testing.assert_close(far, torch.tensor(wanted), atol=1e-6, rtol=0)


def test_a_shift_is_one_rotation_the_same_at_every_position() -> None:
    """The paper's reason for the sinusoid: P(pos + k) is a linear function of P(pos)."""
    table = sinusoid(60, 6, "interleaved").double()
    rotation = torch.linalg.lstsq(table[:50], table[7:57]).solution
    torch.testing.assert_close(table[:53] @ rotation, table[7:60], atol=1e-5, rtol=0)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_positions_may_start_anywhere(layout: str) -> None:
    positions = SinusoidalPositions(7, 5, layout)  # type: ignore[arg-type]
    assert torch.equal(positions(4, 3), positions(0, 7)[4:])


def test_sinusoids_have_no_weights_and_are_not_saved() -> None:
    positions = SinusoidalPositions(7, 4, "halves")
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}


def test_each_pair_of_columns_turns_by_its_own_angle() -> None:
    """As numbers of the complex plane, which is how Su et al. write it."""
    x = torch.randn(2, 3, 9, 6)  # (B, H, T, K)
    pairs = torch.complex(x[..., :3], x[..., 3:])
    angles = torch.arange(9)[:, None] / 10_000 ** (torch.arange(3) / 3)
    wanted = pairs * torch.polar(torch.ones_like(angles), angles)
    found = rotate(x, RotaryPositions(9, 6)(0, 9))
    torch.testing.assert_close(torch.complex(found[..., :3], found[..., 3:]), wanted)


def test_scores_of_turned_vectors_depend_on_the_distance_alone() -> None:
    query, key = torch.randn(2, 1, 1, 1, 8).expand(2, 1, 1, 50, 8)  # the same at every position
    rotation = RotaryPositions(50, 8)(0, 50)
    scores = (rotate(query, rotation) @ rotate(key, rotation).transpose(-2, -1)).squeeze()  # (T, S)
    for distance in (-20, -1, 0, 3):
        same = scores.diagonal(distance)
        torch.testing.assert_close(same, same[:1].expand_as(same), atol=1e-4, rtol=1e-4)
    assert scores[0].std() > 0.01  # and it does matter
    torch.testing.assert_close(scores.diagonal(), (query * key).sum(dim=-1).flatten(), atol=1e-4, rtol=1e-4)


def test_rotary_positions_are_those_of_llama() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(hidden_size=32, num_attention_heads=4, head_dim=8)
    query, key = torch.randn(2, 2, 4, 7, 8)
    cosines, sines = LlamaRotaryEmbedding(config)(query, torch.arange(5, 12)[None])
    rotation = RotaryPositions(12, 8)(5, 7)
    wanted = apply_rotary_pos_emb(query, key, cosines, sines)
    torch.testing.assert_close((rotate(query, rotation), rotate(key, rotation)), wanted)


def test_learned_positions_are_trained_and_saved() -> None:
    positions = LearnedPositions(7, 4)
    positions(2, 3).sum().backward()
    assert positions.table.grad is not None
    assert positions.table.grad[:, 0].tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert list(positions.state_dict()) == ["table"]


@pytest.mark.parametrize(
    "positions", [SinusoidalPositions(7, 4, "interleaved"), LearnedPositions(7, 4), RotaryPositions(7, 4)]
)
@pytest.mark.parametrize(("start", "length"), [(0, 8), (3, 5), (7, 1)])
def test_beyond_the_context_raises(positions: torch.nn.Module, start: int, length: int) -> None:
    assert len(positions(0, 7)) == 7
    with pytest.raises(ValueError, match="beyond the context of 7"):
        positions(start, length)
