"""Texts through an encoder: the engine and torch say the same, in the order in which texts came."""

import pytest
import torch
from tiny_bert import tiny_bert

from qkv.engine import NoEngineError
from qkv.errors import UserError
from qkv.families.bert.encoding import Encoding, Row, batches, by_torch

ROWS = [Row([2, *range(6, 6 + n), 3], [0] * (n + 2)) for n in (4, 1, 9, 2)]
ROWS.append(Row([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1]))


@torch.no_grad()
def wanted(pool: str) -> torch.Tensor:
    encoder = tiny_bert().model.encoder
    states = [encoder(torch.tensor([row.ids]), torch.tensor([row.segments]))[0] for row in ROWS]
    return torch.stack([state.mean(0) if pool == "mean" else state[0] for state in states])


@pytest.mark.parametrize("pool", ["mean", "first"])
@pytest.mark.parametrize("compiled", [True, False])
def test_each_row_gets_the_vector_of_its_own_states(pool: str, compiled: bool) -> None:
    encoding = Encoding(tiny_bert().model.encoder)
    if not compiled:
        encoding.engine = None
    elif encoding.engine is None:
        pytest.skip("the engine cannot be built here")
    found = encoding.pooled(ROWS, pool)
    torch.testing.assert_close(found, wanted(pool), rtol=1e-5, atol=1e-5)


def test_without_a_compiler_int8_is_the_same_arithmetic() -> None:
    encoder = tiny_bert().model.encoder
    encoding = Encoding(encoder, "int8")
    if encoding.engine is None:
        pytest.skip("the engine cannot be built here")
    by_engine = encoding.pooled(ROWS, "mean")
    encoding.engine, encoding.plain = None, by_torch(encoder, "int8")
    torch.testing.assert_close(encoding.pooled(ROWS, "mean"), by_engine, rtol=1e-2, atol=1e-2)


def test_without_a_compiler_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_compiler(*given: object, **named: object) -> None:
        raise NoEngineError("there is no C++ compiler")

    monkeypatch.setattr("qkv.families.bert.encoding.TextEngine", without_compiler)
    told: list[str] = []
    model = tiny_bert().computing_in("float32", told.append)
    assert len(model.embed(["a b"])) == 1
    assert told == [
        "encoding without the fast engine, with the same results but slower: there is no C++ compiler."
    ]


@pytest.mark.parametrize("compute", ["int8", "bf16"])
def test_smaller_numbers_are_close(compute: str) -> None:
    encoding = Encoding(tiny_bert().model.encoder, compute)  # type: ignore[arg-type]
    found = encoding.pooled(ROWS, "mean")
    assert torch.cosine_similarity(found, wanted("mean"), dim=-1).min() > 0.95


def test_done_counts_every_row_once() -> None:
    told: list[int] = []
    Encoding(tiny_bert().model.encoder).pooled(ROWS, "mean", told.append)
    assert sum(told) == len(ROWS)


def test_more_pieces_than_positions_are_rejected() -> None:
    with pytest.raises(UserError, match="a text has 25 tokens, and the model reads at most 24"):
        Encoding(tiny_bert().model.encoder).pooled([Row([5] * 25, [0] * 25)], "mean")


def test_batches_hold_every_row_once_and_are_of_similar_length() -> None:
    lengths = [(7 * n) % 50 + 1 for n in range(900)]
    found = list(batches(lengths))
    assert sorted(row for batch in found for row in batch) == list(range(900))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 4_096 for batch in found)
    assert len(found) > 1
