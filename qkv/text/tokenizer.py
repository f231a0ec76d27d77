"""Byte-level BPE, learned with Hugging Face's `tokenizers`. Every string is decoded exactly.

Rare words fall back to bytes, so there is no unknown token, and text is not normalized.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from qkv.errors import ModelError, QkvError
from qkv.text.library import open_library
from qkv.text.words import WORD_STARTS, Span

SPECIAL = ["<pad>", "<start>", "<end>"]
SPACE = "Ġ"  # a space in byte-level BPE


def byte_letters() -> dict[str, int]:
    """The alphabet of byte-level BPE: printable bytes stand for themselves, others for characters from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTES = byte_letters()
MIN_VOCAB_SIZE = len(SPECIAL) + 256  # the special tokens and the bytes
LONGEST_WORD = 1_000  # characters; the time to learn from a word grows with the square of its length
LONG_RUN = re.compile(  # matching only at the start of a run keeps the time linear
    "|".join(
        rf"(?<!{each}){each}{{{LONGEST_WORD},}}" for each in (r"[^\W\d_]", r"\d", r"(?:[^\w\s]|_)", r"\s")
    )
)


def split_long_words(texts: Iterable[str]) -> Iterator[str]:
    """Split very long runs of letters, digits, punctuation or white space."""
    for text in texts:
        last = 0
        for run in LONG_RUN.finditer(text):
            for cut in range(run.start() + LONGEST_WORD, run.end(), LONGEST_WORD):
                yield text[last:cut]
                last = cut
        yield text[last:]


class Tokenizer:
    pad, start, end = 0, 1, 2
    languages: Sequence[str] = ()  # empty if there is only one target language

    def __init__(self, library: LibraryTokenizer):
        self.library = library
        # Text that happens to contain "<end>" is plain text, not the end token.
        self.library.encode_special_tokens = True

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, *, sentences: bool = True) -> Self:
        """Learn a vocabulary of at most `size` tokens; it is smaller if there is nothing more to merge.

        With `sentences`, a space is added before the first word, so that a word has the same token at the start of a
        sentence as inside it. Decoding removes the space.
        """
        if size < MIN_VOCAB_SIZE:
            raise QkvError(
                f"a vocabulary of {size} is too small: give at least {MIN_VOCAB_SIZE}, one token for each byte."
            )
        library = LibraryTokenizer(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        if sentences:
            library.normalizer = normalizers.Prepend(" ")
            library.decoder = decoders.Sequence([library.decoder, decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,  # a pair seen once is not worth a merge
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        library.train_from_iterator(split_long_words(texts), trainer)
        return cls(library)

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path} is not a tokenizer file ({error}).") from None
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        library = open_library(text, where)
        try:
            return cls(library)
        except Exception as error:  # the library raises bare Exception for everything
            raise ModelError(f"{where} is not a tokenizer file ({error}).") from None

    def text(self) -> str:
        """The content of tokenizer.json, which the tokenizers library can read."""
        return str(self.library.to_str(pretty=False))

    def __len__(self) -> int:
        return int(self.library.get_vocab_size())

    @property
    def source_size(self) -> int:
        """Both sides have the same tokens."""
        return len(self)

    def encode(self, text: str) -> list[int]:
        return list(self.library.encode(text, add_special_tokens=False).ids)

    def separator_after(self, prompt: str) -> str:
        """The text between a prompt and its continuation: none, because a space belongs to the word after it."""
        return ""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(encoding.ids) for encoding in self.library.encode_batch(texts, add_special_tokens=False)]

    @property
    def special(self) -> frozenset[int]:
        """The ids that decode to nothing."""
        return frozenset(range(len(SPECIAL)))

    @property
    def target(self) -> Self:
        """The tokenizer of the target side, which is the same."""
        return self

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids, and the byte range of each token in the text."""
        ids = self.encode(text)
        return ids, self.spans(ids)

    def without_marker(self, text: str) -> tuple[str | None, str]:
        """No marker, because there is only one target language."""
        return None, text

    def words(self, text: str) -> list[str]:
        """The pre-tokenized words, in the alphabet of byte-level BPE."""
        text = self.library.normalizer.normalize_str(text)
        return [word for word, _ in self.library.pre_tokenizer.pre_tokenize_str(text)]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.library.decode(list(ids), skip_special_tokens=True))

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """The byte range of each token in the decoded text."""
        found, end = [], 0
        for place, number in enumerate(ids):
            letters = self.letters(number)
            start, end = end, end + len(letters)
            if place == 0 and letters.startswith(SPACE) and self.library.normalizer is not None:
                end -= 1  # decoding strips it
            found.append((start, end))
        return found

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of every token; special tokens have none."""
        return [bytes(BYTES[letter] for letter in self.letters(number)) for number in range(len(self))]

    def letters(self, number: int) -> str:
        """One letter for each byte of a token; special tokens have none."""
        return "" if number < len(SPECIAL) else self.library.id_to_token(number) or ""

    @cached_property
    def starts_word(self) -> list[bool]:
        """For every id, whether the previous word ends before it: at a space, a punctuation mark or the end token."""
        found = [token[:1] in WORD_STARTS for token in self.token_bytes]
        found[self.end] = True
        return found

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens, for the axes of plots."""
        return [SPECIAL[i] if i < len(SPECIAL) else self.library.decode([i]) or " " for i in ids]
