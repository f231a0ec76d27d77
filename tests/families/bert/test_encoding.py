"""Texts through an encoder: the engine, NumPy and torch say the same, in the order in which texts came."""

from typing import Literal

import numpy as np
import pytest
import torch
from tiny_bert import tiny_bert

from qkv.engine import NoEngineError
from qkv.errors import QkvError
from qkv.families.bert.encoding import Row, batches, encode_rows
from qkv.families.bert.options import Pooling
from qkv.runtime.runners import WITHOUT_ENGINE
from qkv.runtime.running import EXACT, Running

BY_NUMPY, BY_TORCH = Running(compute_type="float32", threads=1), Running(engine="torch")

ROWS = [Row([2, *range(6, 6 + n), 3], [0] * (n + 2)) for n in (4, 1, 9, 2)]
ROWS.append(Row([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1]))


def without_compiler(*given: object, **named: object) -> None:
    raise NoEngineError("there is no C++ compiler")


@torch.no_grad()
def wanted(pool: str) -> torch.Tensor:
    encoder = tiny_bert().model.encoder
    states = [encoder(torch.tensor([row.ids]), torch.tensor([row.segments]))[0] for row in ROWS]
    return torch.stack([state.mean(0) if pool == "mean" else state[0] for state in states])


@pytest.mark.parametrize("pool", ["mean", "first"])
@pytest.mark.parametrize("running", [EXACT, BY_NUMPY, BY_TORCH], ids=["engine", "numpy", "torch"])
def test_each_row_gets_the_vector_of_its_own_states(
    pool: Pooling, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    if running is BY_NUMPY:
        monkeypatch.setattr("qkv.engine.texts.TextEngine", without_compiler)
    encoder = tiny_bert()._running(running)._runner.texts
    np.testing.assert_allclose(encode_rows(encoder, ROWS, pool), wanted(pool), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(encode_rows(encoder, ROWS[2:3], pool), wanted(pool)[2:3], rtol=1e-5, atol=1e-5)


def test_without_a_compiler_int8_is_the_same_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_engine = encode_rows(tiny_bert()._running(Running())._runner.texts, ROWS, "mean")
    monkeypatch.setattr("qkv.engine.texts.TextEngine", without_compiler)
    told: list[str] = []
    model = tiny_bert()._running(Running(), told.append)
    found = encode_rows(model._runner.texts, ROWS, "mean")
    np.testing.assert_allclose(found, by_engine, rtol=1e-2, atol=1e-2)
    assert told == [WITHOUT_ENGINE.format(error="there is no C++ compiler")]


@pytest.mark.parametrize("compute", ["int8", "bf16"])
def test_smaller_numbers_are_close(compute: Literal["int8", "bf16"]) -> None:
    model = tiny_bert()._running(Running(compute_type=compute))
    found = torch.from_numpy(encode_rows(model._runner.texts, ROWS, "mean"))
    assert torch.cosine_similarity(found, wanted("mean"), dim=-1).min() > 0.95


def test_done_counts_every_row_once() -> None:
    for rows in (ROWS, ROWS[:1]):
        told: list[int] = []
        encode_rows(tiny_bert()._runner.texts, rows, "mean", told.append)
        assert sum(told) == len(rows)


def test_no_rows_have_no_vectors() -> None:
    assert encode_rows(tiny_bert()._runner.texts, [], "mean").shape == (0, 20)


def test_more_tokens_than_positions_are_rejected() -> None:
    with pytest.raises(QkvError, match="a text has 25 tokens, and the model reads at most 24"):
        encode_rows(tiny_bert()._runner.texts, [Row([5] * 25, [0] * 25)], "mean")


def test_batches_hold_every_row_once_and_are_of_similar_length() -> None:
    lengths = [(7 * n) % 50 + 1 for n in range(900)]
    found = list(batches(lengths))
    assert sorted(row for batch in found for row in batch) == list(range(900))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 4_096 for batch in found)
    assert len(found) > 1
