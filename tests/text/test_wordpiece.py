"""WordPiece: learned, saved, loaded, and equal to Hugging Face's tokenizer."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer as Pieces
from tokenizers import models

from qkv.errors import ModelError, QkvError
from qkv.text.wordpiece import SPECIAL, WordPieceTokenizer

VOCABULARY = Path(__file__).parents[2] / ".." / "shared" / "data" / "vocab"
TEXTS = ["the cat sat on the mat", "the cats sat on mats", "Where the cat sits, the mat is."] * 5


def learned() -> WordPieceTokenizer:
    return WordPieceTokenizer.learn(TEXTS, 60)


def test_special_tokens_come_first_and_every_token_has_an_id() -> None:
    tokenizer = learned()
    assert tokenizer.show(range(5)) == SPECIAL
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.begin, tokenizer.separator, tokenizer.mask) == (
        0,
        1,
        2,
        3,
        4,
    )
    assert len(tokenizer) <= 60


def test_words_are_cut_and_put_together_again() -> None:
    tokenizer = learned()
    ids = tokenizer.encode("The cats sat.")
    assert tokenizer.decode(ids) == "the cats sat."
    assert [tokenizer.continues[number] for number in tokenizer.encode("cats")].count(False) == 1


def test_capitals_can_be_kept() -> None:
    cased = WordPieceTokenizer.learn(["The cat"] * 5, 40, lowercase=False)
    assert cased.decode(cased.encode("The cat")) == "The cat"


def test_the_same_text_gives_the_same_vocabulary_in_every_process() -> None:
    """The library's own numbering depends on hashes that differ from process to process."""
    import subprocess
    import sys

    program = "from qkv.text.wordpiece import WordPieceTokenizer as W; import sys; print(W.learn(sys.argv[1:], 60).text())"
    found = {
        subprocess.run(
            [sys.executable, "-c", program, *TEXTS], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(3)
    }
    assert found == {learned().text() + "\n"}


def test_letters_beyond_the_commonest_are_unknown() -> None:
    tokenizer = WordPieceTokenizer.learn(["abc abd abe"] * 9 + ["xyz"], 20)
    assert tokenizer.unknown not in tokenizer.encode("abc")
    assert tokenizer.encode("xyz") == [tokenizer.unknown]


def test_saved_and_loaded_they_are_the_same(tmp_path: Path) -> None:
    tokenizer = learned()
    (tmp_path / "tokenizer.json").write_text(tokenizer.text())
    again = WordPieceTokenizer.load(tmp_path / "tokenizer.json")
    assert again.text() == tokenizer.text()
    assert again.encode("the mat sits") == tokenizer.encode("the mat sits")


def test_a_mask_in_the_text_is_a_mask_token_only_on_request() -> None:
    tokenizer = learned()
    ids = tokenizer.encode_with_masks("the [MASK] sat on [MASK].")
    assert ids.count(tokenizer.mask) == 2
    assert tokenizer.mask not in tokenizer.encode("the [MASK] sat")
    assert tokenizer.encode_with_masks("the cat") == tokenizer.encode("the cat")


def test_two_texts_are_joined_with_their_segments() -> None:
    tokenizer = learned()
    ids, segments = tokenizer.join_texts([[10, 11], [12]])
    assert ids == [2, 10, 11, 3, 12, 3]
    assert segments == [0, 0, 0, 0, 1, 1]


def test_published_vocabularies_tokenize_like_hugging_face(tmp_path: Path) -> None:
    if not VOCABULARY.is_dir():
        pytest.skip("the shared data (vocab) is not on this machine")
    from transformers import BertTokenizer

    file = next(VOCABULARY.glob("*vocab.txt"))
    ours, theirs = WordPieceTokenizer.load(file), BertTokenizer(vocab=str(file))
    for text in ["Hello, world!", "Das ist naïve — ja?", "unaffable 12.5 % 東京 don't", ""]:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)
    assert len(ours) == len(theirs)


def test_truncation_and_padding_of_a_published_file_are_switched_off(tmp_path: Path) -> None:
    tokenizer = learned()
    tokenizer.library.enable_truncation(2)
    tokenizer.library.enable_padding(length=9)
    (tmp_path / "tokenizer.json").write_text(tokenizer.text())
    assert len(WordPieceTokenizer.load(tmp_path / "tokenizer.json").encode("the cat sat on the mat")) == 6


def test_other_tokenizers_and_damaged_files_raise_an_error(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(Pieces(models.BPE()).to_str())
    with pytest.raises(ModelError, match="is a BPE tokenizer, but BERT uses WordPiece"):
        WordPieceTokenizer.load(other)
    other.write_text("{")
    with pytest.raises(QkvError, match="is not a tokenizer file"):
        WordPieceTokenizer.load(other)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\nthe\n")
    with pytest.raises(QkvError, match=r"lacks \[CLS\], \[SEP\], \[MASK\]"):
        WordPieceTokenizer.load(vocabulary)
    vocabulary.write_text("the\nthe\n")
    with pytest.raises(QkvError, match="a token twice"):
        WordPieceTokenizer.load(vocabulary)
    with pytest.raises(QkvError, match="cannot be read"):
        WordPieceTokenizer.load(tmp_path / "none.txt")
    with pytest.raises(QkvError, match="too small"):
        WordPieceTokenizer.learn(TEXTS, 5)
