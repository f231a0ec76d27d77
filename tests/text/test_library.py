"""A tokenizer file with parts that qkv does not know is an error before it runs on any text."""

from pathlib import Path

import pytest
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from qkv.errors import ModelError
from qkv.text.characters import CharacterTokenizer
from qkv.text.published_bpe import PublishedBPE
from qkv.text.tokenizer import Tokenizer
from qkv.text.wordpiece import WordPieceTokenizer

HOSTILE = Regex("(x+x+)+y")  # exponential time on x, x, x …


def library(part: str) -> LibraryTokenizer:
    made = LibraryTokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    if part == "Split":
        split = pre_tokenizers.Split(HOSTILE, "isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(), split])
    elif part == "Replace":
        made.normalizer = normalizers.Replace(HOSTILE, "")
    elif part == "Unigram":
        made.model = models.Unigram([("x", 0.0)], 0)
    else:
        made.decoder = decoders.Sequence([decoders.Fuse(), decoders.Replace(HOSTILE, "")])
    return made


@pytest.mark.parametrize("reader", [Tokenizer, CharacterTokenizer, PublishedBPE, WordPieceTokenizer])
@pytest.mark.parametrize("part", ["Split", "Replace", "Unigram", "decoder Replace"])
def test_a_part_that_qkv_does_not_know_is_an_error_that_names_it(
    part: str, reader: type[Tokenizer], tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(library(part).to_str())
    with pytest.raises(ModelError, match=f"{path.name} has parts that qkv does not run: .*{part}"):
        reader.load(path)


def test_our_own_expression_is_allowed() -> None:
    ours = CharacterTokenizer.of(["abc"])
    again = CharacterTokenizer.from_text(ours.text(), "here")
    assert again.library.pre_tokenizer is not None
    assert again.encode("cab") == ours.encode("cab")
