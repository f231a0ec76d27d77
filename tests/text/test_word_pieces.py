"""Word pieces: learned, saved, loaded, and the same as Hugging Face's own."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer as Pieces
from tokenizers import models

from qkv.errors import UserError
from qkv.text.word_pieces import SPECIAL, WordPieces

VOCABULARY = Path(__file__).parents[2] / ".." / "shared" / "data" / "vocab"
TEXTS = ["the cat sat on the mat", "the cats sat on mats", "Where the cat sits, the mat is."] * 5


def learned() -> WordPieces:
    return WordPieces.learn(TEXTS, 60)


def test_special_tokens_come_first_and_every_token_has_an_id() -> None:
    pieces = learned()
    assert pieces.show(range(5)) == SPECIAL
    assert (pieces.pad, pieces.unknown, pieces.begin, pieces.separator, pieces.mask) == (0, 1, 2, 3, 4)
    assert len(pieces) <= 60


def test_words_are_cut_and_put_together_again() -> None:
    pieces = learned()
    ids = pieces.encode("The cats sat.")
    assert pieces.decode(ids) == "the cats sat."
    assert [pieces.continues[number] for number in pieces.encode("cats")].count(False) == 1


def test_capitals_can_be_kept() -> None:
    cased = WordPieces.learn(["The cat"] * 5, 40, lowercase=False)
    assert cased.decode(cased.encode("The cat")) == "The cat"


def test_the_same_text_gives_the_same_vocabulary_in_every_process() -> None:
    """The library's own numbering depends on hashes that differ from process to process."""
    import subprocess
    import sys

    program = "from qkv.text.word_pieces import WordPieces as W; import sys; print(W.learn(sys.argv[1:], 60).text())"
    found = {
        subprocess.run(
            [sys.executable, "-c", program, *TEXTS], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(3)
    }
    assert found == {learned().text() + "\n"}


def test_letters_beyond_the_commonest_are_unknown() -> None:
    pieces = WordPieces.learn(["abc abd abe"] * 9 + ["xyz"], 20)
    assert pieces.unknown not in pieces.encode("abc")
    assert pieces.encode("xyz") == [pieces.unknown]


def test_saved_and_loaded_they_are_the_same(tmp_path: Path) -> None:
    pieces = learned()
    (tmp_path / "tokenizer.json").write_text(pieces.text())
    again = WordPieces.load(tmp_path / "tokenizer.json")
    assert again.text() == pieces.text()
    assert again.encode("the mat sits") == pieces.encode("the mat sits")


def test_a_mask_in_the_text_is_a_mask_token_only_on_request() -> None:
    pieces = learned()
    ids = pieces.encode_with_masks("the [MASK] sat on [MASK].")
    assert ids.count(pieces.mask) == 2
    assert pieces.mask not in pieces.encode("the [MASK] sat")
    assert pieces.encode_with_masks("the cat") == pieces.encode("the cat")


def test_two_texts_are_joined_with_their_segments() -> None:
    pieces = learned()
    ids, segments = pieces.joined([[10, 11], [12]])
    assert ids == [2, 10, 11, 3, 12, 3]
    assert segments == [0, 0, 0, 0, 1, 1]


def test_published_vocabularies_tokenize_like_hugging_face(tmp_path: Path) -> None:
    if not VOCABULARY.is_dir():
        pytest.skip("the shared data (vocab) is not on this machine")
    from transformers import BertTokenizer

    file = next(VOCABULARY.glob("*vocab.txt"))
    ours, theirs = WordPieces.load(file), BertTokenizer(vocab=str(file))
    for text in ["Hello, world!", "Das ist naïve — ja?", "unaffable 12.5 % 東京 don't", ""]:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)
    assert len(ours) == len(theirs)


def test_truncation_and_padding_of_a_published_file_are_switched_off(tmp_path: Path) -> None:
    pieces = learned()
    pieces.pieces.enable_truncation(2)
    pieces.pieces.enable_padding(length=9)
    (tmp_path / "tokenizer.json").write_text(pieces.text())
    assert len(WordPieces.load(tmp_path / "tokenizer.json").encode("the cat sat on the mat")) == 6


def test_other_tokenizers_and_damaged_files_raise_an_error(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(Pieces(models.BPE()).to_str())
    with pytest.raises(UserError, match="is a BPE tokenizer, but BERT uses WordPiece"):
        WordPieces.load(other)
    other.write_text("{")
    with pytest.raises(UserError, match="is not a tokenizer file"):
        WordPieces.load(other)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\nthe\n")
    with pytest.raises(UserError, match=r"lacks \[CLS\], \[SEP\], \[MASK\]"):
        WordPieces.load(vocabulary)
    vocabulary.write_text("the\nthe\n")
    with pytest.raises(UserError, match="a token twice"):
        WordPieces.load(vocabulary)
    with pytest.raises(UserError, match="cannot be read"):
        WordPieces.load(tmp_path / "none.txt")
    with pytest.raises(UserError, match="too small"):
        WordPieces.learn(TEXTS, 5)
