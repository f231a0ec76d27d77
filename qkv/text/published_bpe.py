"""The published BPE tokenizers of GPT-1 and GPT-2.

GPT-2 uses byte-level BPE: spaces are part of tokens, and every string is decoded exactly. GPT-1 lower-cases its text, and
"</w>" marks a token that ends a word.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers

from qkv.errors import ModelError
from qkv.text.tokenizer import BYTES, Tokenizer

WORD_END = "</w>"


class PublishedBPE(Tokenizer):
    """`end` separates documents and starts the first. The code that loads a model sets it."""

    end: int

    @property
    def start(self) -> int:  # type: ignore[override]
        """GPT has no start token: a text follows the end of another one."""
        return self.end

    def __init__(self, library: LibraryTokenizer):
        super().__init__(library)
        stored: dict[str, Any] = json.loads(library.to_str())
        model = stored["model"]
        if model["type"] != "BPE":
            raise ModelError(f"this is a {model['type']} tokenizer, but GPT uses BPE.")
        self.suffix = str(model.get("end_of_word_suffix") or "")
        self.byte_level = has_byte_level(stored.get("pre_tokenizer"))
        if self.byte_level == bool(self.suffix) or self.suffix not in ("", WORD_END):
            raise ModelError(
                f"this tokenizer has neither byte-level tokens like GPT-2 nor tokens that end with {WORD_END} like GPT."
            )
        unknown = model.get("unk_token")
        self.unknown = None if unknown is None else library.token_to_id(unknown)
        added = {int(each["id"]) for each in stored["added_tokens"] if each["special"]}
        self.special_ids = frozenset(added if self.unknown is None else added | {self.unknown})

    @classmethod
    def of_merges(cls, vocabulary: Path, merges: Path, *, byte_level: bool) -> Self:
        """From vocab.json and merges.txt, as originally published."""
        try:
            numbers, pairs = models.BPE.read_file(str(vocabulary), str(merges))
            unknown = None if byte_level else "<unk>"
            library = LibraryTokenizer(
                models.BPE(
                    numbers, pairs, unk_token=unknown, end_of_word_suffix="" if byte_level else WORD_END
                )
            )
        except Exception as error:  # the library raises bare Exception for everything
            raise ModelError(f"{vocabulary} and {merges.name} are not a tokenizer ({error}).") from None
        if byte_level:
            library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            library.decoder = decoders.ByteLevel()
        else:
            library.normalizer = normalizers.BertNormalizer(lowercase=True)
            library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            library.decoder = decoders.BPEDecoder(suffix=WORD_END)
        library.add_special_tokens([each for each in ("<|endoftext|>", "<unk>") if each in numbers])
        return cls(library)

    def separator_after(self, prompt: str) -> str:
        """A space, if the tokenizer marks word ends and the prompt does not end with a space."""
        return " " if self.suffix and prompt and not prompt[-1].isspace() else ""

    @property
    def special(self) -> frozenset[int]:
        return self.special_ids

    def letters(self, number: int) -> str:
        return "" if number in self.special_ids else self.library.id_to_token(number) or ""

    @cached_property
    def token_bytes(self) -> list[bytes]:
        if self.byte_level:
            return [in_bytes(self.letters(number)) for number in range(len(self))]
        return [self.letters(number).replace(WORD_END, " ").encode() for number in range(len(self))]


def in_bytes(letters: str) -> bytes:
    """The bytes of a token. Tokens that were added to the vocabulary are plain text."""
    return bytes(map(BYTES.__getitem__, letters)) if BYTES.keys() >= set(letters) else letters.encode()


def has_byte_level(part: Any) -> bool:
    """Whether a pre-tokenizer has a byte-level step."""
    if not isinstance(part, dict):
        return False
    return part.get("type") == "ByteLevel" or any(map(has_byte_level, part.get("pretokenizers", [])))
