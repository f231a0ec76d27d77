"""The tokenizer interface of translators, and loading tokenizer.json."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from qkv.errors import DataError
from qkv.text.marian_tokenizer import FORMAT, MarianTokenizer
from qkv.text.plain_tokens import FORMAT as PLAIN_FORMAT
from qkv.text.plain_tokens import PlainTokenizer
from qkv.text.words import Span


class Vocabulary(Protocol):
    @property
    def pad(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def target(self) -> "Vocabulary":
        """The tokenizer of the target side, which may differ."""
        ...

    @property
    def languages(self) -> Sequence[str]:
        """The available target languages, if there are several."""
        ...

    @property
    def source_size(self) -> int:
        """The tokens of sources; `len` is the number of target tokens."""
        ...

    @property
    def token_bytes(self) -> list[bytes]: ...
    @property
    def starts_word(self) -> list[bool]: ...

    def __len__(self) -> int: ...
    def __hash__(self) -> int: ...
    def text(self) -> str: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]: ...
    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]: ...
    def without_marker(self, text: str) -> tuple[str | None, str]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def spans(self, ids: Sequence[int]) -> list[Span]: ...
    def show(self, ids: Sequence[int]) -> list[str]: ...


READERS: dict[str, Callable[[dict[str, Any], str], Vocabulary]] = {
    FORMAT: MarianTokenizer.from_stored,
    PLAIN_FORMAT: PlainTokenizer.from_stored,
}


def load_vocabulary(path: Path) -> Vocabulary:
    """Load the tokenizer.json of a translator's bundle."""
    try:
        text = path.read_text(encoding="utf-8")
        ours = any(f'"{format}"' in text for format in READERS)
        stored = json.loads(text) if ours else None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a tokenizer file ({error}).") from None
    if isinstance(stored, dict) and stored.get("format") in READERS:
        return READERS[stored["format"]](stored, str(path))
    from qkv.text.tokenizer import Tokenizer  # imports the library, which the others do not need

    return Tokenizer.from_text(text, str(path))
