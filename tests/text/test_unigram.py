"""Texts are cut as SentencePiece cuts them."""

import io
from functools import cache

import pytest
import sentencepiece
from published import learned_pieces, mixed_lines

from qkv.errors import QkvError
from qkv.text.unigram import UnigramModel


@cache
def content() -> bytes:
    return learned_pieces(mixed_lines(500, 1), 700)


def test_a_thousand_lines_of_mixed_scripts_are_tokenized_like_sentencepiece() -> None:
    ours, theirs = (
        UnigramModel(content(), "here"),
        sentencepiece.SentencePieceProcessor(model_proto=content()),
    )
    unknown = 0
    for line in mixed_lines(1000, 7):
        normal, _, pieces = ours.segment(line)
        assert [normal[start:end] for start, end, _ in pieces] == theirs.encode(line, out_type=str), line
        known = [number != theirs.unk_id() for number in theirs.encode(line)]
        assert [each for _, _, each in pieces] == known
        unknown += known.count(False)
    assert unknown > 100  # there was something that has no piece


def test_every_normalised_character_has_its_origin() -> None:
    normal, origins, _ = UnigramModel(content(), "here").segment("  ﬁne  ½ cat")
    assert normal == "▁fine▁1⁄2▁cat"
    assert [origins[normal.index(each)] for each in "f1c"] == [2, 7, 9]
    assert origins == sorted(origins)


@pytest.mark.parametrize("damage", [b"", b"\xff" * 40, "half", "text"])
def test_a_damaged_model_raises_an_error(damage: bytes | str) -> None:
    broken = (
        content()[: len(content()) // 2] if damage == "half" else b"hello" if damage == "text" else damage
    )
    with pytest.raises(QkvError, match="here is not a SentencePiece model, or it is damaged"):
        UnigramModel(broken, "here")  # type: ignore[arg-type]


def test_the_error_names_other_model_types() -> None:
    lines, out = mixed_lines(300, 1), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, vocab_size=900, model_type="bpe", minloglevel=2, num_threads=1,
        hard_vocab_limit=False,
    )  # fmt: skip
    with pytest.raises(QkvError, match="byte-pair merges"):
        UnigramModel(out.getvalue(), "here")
