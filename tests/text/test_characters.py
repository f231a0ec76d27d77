"""Characters: every text that they were learned from comes back; others are refused."""

from pathlib import Path

import pytest

from qkv.errors import QkvError
from qkv.text.characters import CharacterTokenizer

TEXT = "First Citizen:\n\tSpeak, ſpeak – é🎉\r\n<end>"


def test_a_text_comes_back_as_it_went_in_and_a_character_is_a_token() -> None:
    tokenizer = CharacterTokenizer.of([TEXT])
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert len(tokenizer.encode(TEXT)) == len(TEXT)
    assert len(tokenizer) == 3 + len(set(TEXT))
    assert b"".join(tokenizer.token_bytes[number] for number in tokenizer.encode(TEXT)).decode() == TEXT


def test_hugging_faces_library_reads_the_file_alike(tmp_path: Path) -> None:
    tokenizer = CharacterTokenizer.of([TEXT])
    (tmp_path / "tokenizer.json").write_text(tokenizer.text(), encoding="utf-8")
    again = CharacterTokenizer.load(tmp_path / "tokenizer.json")
    plain = "Speak\n é🎉"
    assert again.library.encode(plain).ids == tokenizer.encode(plain) == again.encode(plain)
    assert again.library.decode(again.encode(plain)) == plain


def test_characters_that_were_never_shown_are_named() -> None:
    with pytest.raises(QkvError, match=r"knows only the 3 characters .* but not 'z', 'ä'"):
        CharacterTokenizer.of(["abc"]).encode("abzcäz")
