"""The tokenizer of published Marian translators: a SentencePiece model for each language, and one vocabulary or two.

Text is normalized, so decoding does not restore it exactly. Unknown characters become the unknown token.
If a model has several target languages, a source starts with a token that selects one, such as ">>fra<<".
"""

import base64
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from qkv.errors import InputError, ModelError
from qkv.text.unigram import SPACE, UnigramModel
from qkv.text.words import WORD_STARTS, Span

FORMAT = "sentence pieces"
MARKER = re.compile(r">>[^<>]*<<")


class MarianTokenizer:
    """`models` are for the source and target side. `encode` is for sources, `target.encode` for targets.

    `vocabulary` holds the tokens of targets. Sources have the same ones, unless there is a `source_vocabulary`. Special
    tokens have the same ids in both.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        models: tuple[UnigramModel, UnigramModel],
        *,
        pad: int,
        start: int,
        end: int,
        unknown: int,
        language: str | None = None,
        side: int = 0,
        source_vocabulary: Sequence[str] | None = None,
    ):
        self.vocabulary, self.models, self.side = vocabulary, models, side
        self.source_vocabulary = source_vocabulary
        own = vocabulary if side or source_vocabulary is None else source_vocabulary
        self.own = own  # what `encode` gives
        self.pad, self.start, self.end, self.unknown = pad, start, end, unknown
        self.language = language  # the default target language
        self.special = {pad, end, unknown}
        if language is not None and self.marker(language) not in self.ids:
            known = ", ".join(self.languages)
            raise InputError(
                f"this model has no target language '{language}': choose from {known or 'its only one'}."
            )

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of all tokens. Only encoding needs them, so a translation has none for its target side."""
        return {token: number for number, token in enumerate(self.own)}

    @cached_property
    def target(self) -> "MarianTokenizer":
        return self.other(side=1)

    def other(self, *, side: int = 0, language: str | None = None) -> "MarianTokenizer":
        """The same vocabulary for the other side, or with another default target language."""
        return MarianTokenizer(
            self.vocabulary,
            self.models,
            pad=self.pad,
            start=self.start,
            end=self.end,
            unknown=self.unknown,
            language=language,
            side=side,
            source_vocabulary=self.source_vocabulary,
        )

    @cached_property
    def languages(self) -> list[str]:
        """The available target languages."""
        return sorted(token[2:-2] for token in self.own if MARKER.fullmatch(token))

    @staticmethod
    def marker(language: str) -> str:
        return f">>{language}<<"

    # Files ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{where} is not a tokenizer file ({type(error).__name__}: {error}).") from None
        return cls.from_stored(stored, where)

    @classmethod
    def from_stored(cls, stored: dict[str, Any], where: str) -> Self:
        """From the content of tokenizer.json."""
        try:
            same = stored["source"] == stored["target"]
            sides = ("source",) if same else ("source", "target")
            models = [base64.b64decode(stored[side], validate=True) for side in sides]
            vocabulary = [str(token) for token in stored["vocabulary"]]
            sources = stored.get("source_vocabulary")
            sources = None if sources is None else [str(token) for token in sources]
            numbers = {name: int(stored[name]) for name in ("pad", "start", "end", "unknown")}
            language = stored["language"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ModelError(f"{where} is not a tokenizer file ({type(error).__name__}: {error}).") from None
        reject_half_characters([*vocabulary, *(sources or ())], where)
        sizes = [len(each) for each in (vocabulary, sources) if each is not None]
        if not all(0 <= number < min(sizes) for number in numbers.values()):
            raise ModelError(f"{where}: a special token is missing from the vocabulary.")
        source = UnigramModel(models[0], where)
        target = source if same else UnigramModel(models[1], where)
        return cls(vocabulary, (source, target), language=language, source_vocabulary=sources, **numbers)

    @classmethod
    def load(cls, path: Path) -> Self:
        return cls.from_text(path.read_text(encoding="utf-8"), str(path))

    def text(self) -> str:
        """Everything as one text file."""
        source, target = (base64.b64encode(model.content).decode() for model in self.models)
        stored = {
            "format": FORMAT,
            "pad": self.pad,
            "start": self.start,
            "end": self.end,
            "unknown": self.unknown,
            "language": self.language,
            "vocabulary": list(self.vocabulary),
            **({} if self.source_vocabulary is None else {"source_vocabulary": list(self.source_vocabulary)}),
            "source": source,
            "target": target,
        }
        return json.dumps(stored, ensure_ascii=False)

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
        marker, rest = self.without_marker(text)
        ids, spans = ([], []) if marker is None else ([self.number(marker)], [(0, 0)])
        normal, origins, tokens = self.models[self.side].segment(rest)
        before = len(text) - len(rest)
        bytes_before = [len(text[:before].encode("utf-8", "replace"))]  # for every character of the rest
        for letter in rest:
            bytes_before.append(bytes_before[-1] + len(letter.encode("utf-8", "replace")))
        for start, end, _ in tokens:
            ids.append(self.number(normal[start:end]))
            last = origins[end] if end < len(origins) else len(rest)
            spans.append((bytes_before[origins[start]], bytes_before[max(origins[start], last)]))
        return ids, spans

    def without_marker(self, text: str) -> tuple[str | None, str]:
        """The token that selects a target language, if any, and the text after it."""
        if self.side == 0:
            if text.startswith(">>") and "<<" in text:
                end = text.index("<<") + 2
                return text[:end], text[end:]
            if self.language is not None:
                return self.marker(self.language), text
        return None, text

    def number(self, token: str) -> int:
        return self.ids.get(token, self.unknown)

    # From ids to text ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(self.letters, ids)).strip()

    def letters(self, number: int) -> str:
        """The text of a token; special tokens have none."""
        return "" if number in self.special else self.vocabulary[number].replace(SPACE, " ")

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """The byte range of each token in the decoded text."""
        text = "".join(map(self.letters, ids))
        first = len(text) - len(text.lstrip())  # decoding strips white space, one byte each
        size = len(text.strip().encode())
        found, end = [], -first
        for number in ids:
            start, end = end, end + len(self.letters(number).encode())
            found.append((min(max(start, 0), size), min(max(end, 0), size)))
        return found

    @cached_property
    def token_bytes(self) -> list[bytes]:
        return [self.letters(number).encode() for number in range(len(self))]

    @cached_property
    def starts_word(self) -> list[bool]:
        """For every id, whether the previous word ends before it: at a space, a punctuation mark or the end token."""
        found = [token[:1] in WORD_STARTS for token in self.token_bytes]
        found[self.end] = True
        return found

    def show(self, ids: Sequence[int]) -> list[str]:
        """Readable tokens of this side, for the axes of plots."""
        own = self.own
        return [own[i] if i in self.special else own[i].replace(SPACE, " ").strip() or " " for i in ids]


def reject_half_characters(vocabulary: Sequence[str], where: str) -> None:
    """JSON can hold half of a surrogate pair, which is not a character."""
    try:
        "".join(vocabulary).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        number = next(number for number, token in enumerate(vocabulary) if half in token)
        raise ModelError(
            f"{where}: token {number} of the vocabulary contains half of a character ({half!r})."
        ) from None
