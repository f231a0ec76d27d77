"""Byte-level BPE learned from the user's own text. Decoding the ids of a string returns it exactly.

Byte-pair merges over UTF-8 bytes (Hugging Face `tokenizers`): what the vocabulary lacks falls back to
bytes, so there is no unknown word, and no normalisation that would change a character.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from qkv.errors import UserError
from qkv.text.words import Span

SPECIAL = ["<pad>", "<start>", "<end>"]
SPACE = "Ġ"  # a space in byte-level BPE


def letters_of_bytes() -> dict[str, int]:
    """The letters of byte-level BPE: a printable byte is itself, the others are letters from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + n): byte for n, byte in enumerate(others)}


ANEW = frozenset(bytes([byte]) for byte in b" \t\n.,;:!?)]}\"'")
BYTES = letters_of_bytes()
SMALLEST = len(SPECIAL) + 256  # the special tokens and the bytes
LONGEST_WORD = 1_000  # characters; the time to learn from a word grows with the square of its length
ENDLESS = (
    re.compile(  # only from the start of a run: tried at every character, a run would take quadratic time
        "|".join(
            rf"(?<!{each}){each}{{{LONGEST_WORD},}}" for each in (r"[^\W\d_]", r"\d", r"(?:[^\w\s]|_)", r"\s")
        )
    )
)


def with_words_cut(texts: Iterable[str]) -> Iterator[str]:
    """The texts, with endless runs of letters, digits, marks or blanks split up."""
    for text in texts:
        last = 0
        for run in ENDLESS.finditer(text):
            for cut in range(run.start() + LONGEST_WORD, run.end(), LONGEST_WORD):
                yield text[last:cut]
                last = cut
        yield text[last:]


class Tokenizer:
    pad, start, end = 0, 1, 2
    languages: Sequence[str] = ()  # empty: one target language

    def __init__(self, pieces: Pieces):
        self.pieces = pieces
        # Text that happens to contain "<end>" is plain text, not the end token.
        self.pieces.encode_special_tokens = True

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, *, sentences: bool = True) -> Self:
        """Learn a vocabulary of at most `size` tokens; it is smaller if there is nothing more to merge.

        With `sentences` a space before the first word makes it the same piece as inside a sentence; decoding takes it
        off. Documents, which begin with a title or a line of code, have none.
        """
        if size < SMALLEST:
            raise UserError(
                f"a vocabulary of {size} is too small: give at least {SMALLEST}, one token for each byte."
            )
        pieces = Pieces(models.BPE())
        pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        pieces.decoder = decoders.ByteLevel()
        if sentences:
            pieces.normalizer = normalizers.Prepend(" ")
            pieces.decoder = decoders.Sequence([pieces.decoder, decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,  # a pair seen once is not worth a merge
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        pieces.train_from_iterator(with_words_cut(texts), trainer)
        return cls(pieces)

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path} is not a tokenizer file ({error}).") from None
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        try:
            return cls(Pieces.from_str(text))
        except Exception as error:  # the library raises bare Exception for everything
            raise UserError(f"{where} is not a tokenizer file ({error}).") from None

    def text(self) -> str:
        """The content of tokenizer.json, which the tokenizers library can read."""
        return str(self.pieces.to_str(pretty=False))

    def __len__(self) -> int:
        return int(self.pieces.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self.pieces.encode(text, add_special_tokens=False).ids)

    def between(self, prompt: str) -> str:
        """The text between a prompt and its continuation: nothing, because a space belongs to the word after it."""
        return ""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(encoding.ids) for encoding in self.pieces.encode_batch(texts, add_special_tokens=False)]

    @property
    def special(self) -> frozenset[int]:
        """The ids that decode to nothing."""
        return frozenset(range(len(SPECIAL)))

    @property
    def target(self) -> Self:
        """The tokenizer of the target side: the same."""
        return self

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids, and the range of bytes of each in the text."""
        ids = self.encode(text)
        return ids, self.spans(ids)

    def without_marker(self, text: str) -> tuple[str | None, str]:
        """There are no language markers."""
        return None, text

    def words(self, text: str) -> list[str]:
        """The pre-tokenized words, in the letters of the merges."""
        text = self.pieces.normalizer.normalize_str(text)
        return [word for word, _ in self.pieces.pre_tokenizer.pre_tokenize_str(text)]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.pieces.decode(list(ids), skip_special_tokens=True))

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """The range of bytes of each token in the decoded text."""
        found, end = [], 0
        for place, number in enumerate(ids):
            letters = self.letters(number)
            start, end = end, end + len(letters)
            if place == 0 and letters.startswith(SPACE) and self.pieces.normalizer is not None:
                end -= 1  # decoding strips it
            found.append((start, end))
        return found

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of every id; special tokens have none."""
        return [bytes(BYTES[letter] for letter in self.letters(number)) for number in range(len(self))]

    def letters(self, number: int) -> str:
        """One letter for each byte of a token; special tokens have none."""
        return "" if number < len(SPECIAL) else self.pieces.id_to_token(number) or ""

    @cached_property
    def begins_anew(self) -> list[bool]:
        """For every id, whether it starts a new word: it begins with a space or a closing mark, or is the end."""
        found = [piece[:1] in ANEW for piece in self.token_bytes]
        found[self.end] = True
        return found

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens, for the axes of plots."""
        return [SPECIAL[i] if i < len(SPECIAL) else self.pieces.decode([i]) or " " for i in ids]
