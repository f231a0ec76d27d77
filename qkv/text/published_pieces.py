"""The published BPE tokenizers of GPT and GPT-2, with their special tokens and two ways to write a space.

GPT-2 has byte-level pieces, in which a space is a letter, and any string comes back as it went in. GPT-1 reads small
letters only, and "</w>" marks a piece that ends a word.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, normalizers, pre_tokenizers

from qkv.errors import UserError
from qkv.text.tokenizer import BYTES, Tokenizer

WORD_END = "</w>"


class PublishedPieces(Tokenizer):
    """`end` is the token between documents and before the first. The code that opens a model sets it."""

    end: int

    @property
    def start(self) -> int:  # type: ignore[override]
        """Neither GPT has a start token: a text follows the end of another."""
        return self.end

    def __init__(self, pieces: Pieces):
        super().__init__(pieces)
        pieces.no_truncation()
        pieces.no_padding()
        stored: dict[str, Any] = json.loads(pieces.to_str())
        model = stored["model"]
        if model["type"] != "BPE":
            raise UserError(f"this is a {model['type']} tokenizer, but GPT uses BPE.")
        self.suffix = str(model.get("end_of_word_suffix") or "")
        self.byte_level = has_byte_level(stored.get("pre_tokenizer"))
        if self.byte_level == bool(self.suffix) or self.suffix not in ("", WORD_END):
            raise UserError(
                f"this tokenizer has neither byte-level tokens like GPT-2 nor tokens that end with {WORD_END} like GPT."
            )
        unknown = model.get("unk_token")
        self.unknown = None if unknown is None else pieces.token_to_id(unknown)
        marked = {int(each["id"]) for each in stored["added_tokens"] if each["special"]}
        self.marks = frozenset(marked if self.unknown is None else marked | {self.unknown})

    @classmethod
    def of_merges(cls, vocabulary: Path, merges: Path, *, byte_level: bool) -> Self:
        """From vocab.json and merges.txt, as originally published."""
        try:
            numbers, pairs = models.BPE.read_file(str(vocabulary), str(merges))
            unknown = None if byte_level else "<unk>"
            pieces = Pieces(
                models.BPE(
                    numbers, pairs, unk_token=unknown, end_of_word_suffix="" if byte_level else WORD_END
                )
            )
        except Exception as error:  # the library raises bare Exception for everything
            raise UserError(f"{vocabulary} and {merges.name} are not a tokenizer ({error}).") from None
        if byte_level:
            pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            pieces.decoder = decoders.ByteLevel()
        else:
            pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
            pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            pieces.decoder = decoders.BPEDecoder(suffix=WORD_END)
        pieces.add_special_tokens([each for each in ("<|endoftext|>", "<unk>") if each in numbers])
        return cls(pieces)

    def between(self, prompt: str) -> str:
        """With tokens that end words, a word of the prompt has ended, but its space may be missing."""
        return " " if self.suffix and prompt and not prompt[-1].isspace() else ""

    @property
    def special(self) -> frozenset[int]:
        return self.marks

    def letters(self, number: int) -> str:
        return "" if number in self.marks else self.pieces.id_to_token(number) or ""

    @cached_property
    def token_bytes(self) -> list[bytes]:
        if self.byte_level:
            return [in_bytes(self.letters(number)) for number in range(len(self))]
        return [self.letters(number).replace(WORD_END, " ").encode() for number in range(len(self))]


def in_bytes(letters: str) -> bytes:
    """Added tokens are written unchanged."""
    return bytes(map(BYTES.__getitem__, letters)) if BYTES.keys() >= set(letters) else letters.encode()


def has_byte_level(part: Any) -> bool:
    """Whether there is such a step before the merges."""
    if not isinstance(part, dict):
        return False
    return part.get("type") == "ByteLevel" or any(map(has_byte_level, part.get("pretokenizers", [])))
