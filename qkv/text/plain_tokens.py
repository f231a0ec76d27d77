"""The tokenizer of translators without SentencePiece: tokens are separated by spaces, and may be split by BPE.

The text has to be prepared as the model's training data was. With BPE (Sennrich et al., 2016, in the files of subword-nmt),
a token that ends with "@@" continues without a space. Unknown words become the unknown token.
"""

import json
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

from qkv.errors import DataError, ModelError
from qkv.text.words import Span

FORMAT = "plain tokens"
CONTINUES = "@@"
WORD_END = "</w>"
LONGEST_WORD = 1_000  # characters; the time to merge grows with the square of a word's length


class Merges:
    """BPE merges of subword-nmt, versions 0.1 and 0.2."""

    def __init__(self, codes: str, where: str):
        lines = codes.split("\n")
        first = lines[0].split()
        self.ends_apart = True  # before version 0.2, the end of a word was a symbol of its own
        if first and first[0] == "#version:":
            self.ends_apart = first[1:] == ["0.1"]
            lines = lines[1:]
        pairs = [tuple(line.split(" ")) for line in lines if line.strip()]
        if any(len(pair) != 2 for pair in pairs):
            raise DataError(f"{where} is not a list of BPE merges: each line should have two symbols.")
        self.ranks = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}

    def split(self, word: str) -> list[str]:
        """The subwords of a word, without the marks between them."""
        symbols = [*word, WORD_END] if self.ends_apart else [*word[:-1], word[-1] + WORD_END]
        if len(word) > LONGEST_WORD:
            return list(word)
        while len(symbols) > 1:
            pairs = pairwise(symbols)
            rank, best = min((self.ranks.get(pair, len(self.ranks)), pair) for pair in pairs)
            if rank == len(self.ranks):
                break
            symbols = merged(symbols, best)
        if symbols[-1] == WORD_END:
            return symbols[:-1]
        return [*symbols[:-1], symbols[-1].removesuffix(WORD_END)]


def merged(symbols: Sequence[str], pair: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    place = 0
    while place < len(symbols):
        both = tuple(symbols[place : place + 2]) == pair
        found.append("".join(pair) if both else symbols[place])
        place += 2 if both else 1
    return found


class PlainTokenizer:
    """`vocabulary` holds the tokens of targets. Sources have the same ones, unless there is a `source_vocabulary`."""

    languages: Sequence[str] = ()

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        pad: int,
        start: int,
        end: int,
        unknown: int,
        codes: str | None = None,
        source_vocabulary: Sequence[str] | None = None,
        side: int = 0,
        where: str = "the tokenizer",
    ):
        self.vocabulary, self.source_vocabulary, self.side = vocabulary, source_vocabulary, side
        self.pad, self.start, self.end, self.unknown = pad, start, end, unknown
        self.codes, self.merges = codes, None if codes is None else Merges(codes, where)
        self.own = vocabulary if side or source_vocabulary is None else source_vocabulary
        self.ids = {token: number for number, token in enumerate(self.own)}
        self.special = {pad, start, end, unknown}

    @cached_property
    def target(self) -> "PlainTokenizer":
        return PlainTokenizer(
            self.vocabulary,
            pad=self.pad,
            start=self.start,
            end=self.end,
            unknown=self.unknown,
            codes=self.codes,
            source_vocabulary=self.source_vocabulary,
            side=1,
        )

    # Files ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_stored(cls, stored: dict[str, Any], where: str) -> Self:
        """From the content of tokenizer.json."""
        try:
            both = [stored["vocabulary"], stored["source_vocabulary"]]
            vocabulary, source = (None if each is None else [str(token) for token in each] for each in both)
            numbers = {name: int(stored[name]) for name in ("pad", "start", "end", "unknown")}
            codes = None if stored["codes"] is None else str(stored["codes"])
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{where} is not a tokenizer file ({type(error).__name__}: {error}).") from None
        sizes = [len(each) for each in (vocabulary, source) if each is not None]
        if vocabulary is None or not all(0 <= number < min(sizes) for number in numbers.values()):
            raise ModelError(f"{where}: a special token is missing from the vocabulary.")
        return cls(vocabulary, codes=codes, source_vocabulary=source, where=where, **numbers)

    def text(self) -> str:
        """Everything as one text file."""
        names = ("pad", "start", "end", "unknown", "codes", "vocabulary", "source_vocabulary")
        return json.dumps(
            {"format": FORMAT, **{name: getattr(self, name) for name in names}}, ensure_ascii=False
        )

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def source_size(self) -> int:
        return len(self.vocabulary if self.source_vocabulary is None else self.source_vocabulary)

    # From text to ids ----------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        return self.encode_with_spans(text)[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids, and the byte range of each token in the text."""
        ids, spans, place, read = [], [], 0, 0
        for word in re.finditer(r"\S+", text):
            place += len(text[read : word.start()].encode("utf-8", "replace"))
            read = word.end()
            parts = [word[0]] if self.merges is None else self.merges.split(word[0])
            for number, part in enumerate(parts):
                name = part if number == len(parts) - 1 else part + CONTINUES
                size = len(part.encode("utf-8", "replace"))
                ids.append(self.ids.get(name, self.unknown))
                spans.append((place, place + size))
                place += size
        return ids, spans

    def without_marker(self, text: str) -> tuple[str | None, str]:
        """No marker, because there is only one target language."""
        return None, text

    # From ids to text ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(self.letters, ids)).strip()

    def letters(self, number: int) -> str:
        """The text of a token with the space behind it; special tokens have none."""
        if number in self.special:
            return ""
        token = self.vocabulary[number]
        return token.removesuffix(CONTINUES) if self.continues(token) else f"{token} "

    def continues(self, token: str) -> bool:
        return self.merges is not None and token.endswith(CONTINUES)

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """The byte range of each token in the decoded text."""
        found, end = [], 0
        for number in ids:
            letters = self.letters(number)
            found.append((end, end + len(letters.rstrip(" ").encode())))
            end += len(letters.encode())
        return found

    @cached_property
    def token_bytes(self) -> list[bytes]:
        return [self.letters(number).encode() for number in range(len(self))]

    @cached_property
    def starts_word(self) -> list[bool]:
        """Whether a word has ended before a token is known by the token before it, so here all of them may start one."""
        return [True] * len(self)

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens of this side, for the axes of plots."""
        return [self.own[number] for number in ids]
