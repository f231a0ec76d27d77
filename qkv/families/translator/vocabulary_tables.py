"""Tables about all tokens of a vocabulary. They take long to compute, so they are kept as long as the vocabulary is in use."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from qkv.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

PHRASES = 64  # avoided phrases whose automata are kept, for each vocabulary


class VocabularyTables:
    """The tables of one vocabulary. They hold no reference to it."""

    def __init__(self) -> None:
        self.automata: dict[str, np.ndarray] = {}
        self.characters: list[np.ndarray | None] = []  # empty, or the table
        self.entities: bool | None = None

    def automaton(self, phrase: str, tokenizer: Vocabulary) -> "np.ndarray":
        """The states of a phrase, (states, V)."""
        found = self.automata.get(phrase)
        if found is None:
            from qkv.text.avoid import automaton

            found = automaton(phrase, tokenizer.token_bytes)
            for oldest in list(self.automata)[: max(0, len(self.automata) - PHRASES + 1)]:
                self.automata.pop(oldest, None)
            self.automata[phrase] = found
        return found

    def whole_characters(self, tokenizer: Vocabulary) -> "np.ndarray | None":
        if not self.characters:
            from qkv.text.whole_characters import whole_characters

            self.characters = [whole_characters(tokenizer.token_bytes, tokenizer.end)]
        return self.characters[0]

    def knows_entities(self, encode: Callable[[str], list[int]]) -> bool:
        """Whether the vocabulary was learned from text with entities, as Moses writes them: then their names are tokens."""
        if self.entities is None:
            fewest = min(len(encode(entity)) for entity in ("&apos;", "&quot;"))
            self.entities = fewest <= 3  # the ampersand, the name and the semicolon
        return self.entities


TABLES: WeakKeyDictionary[Vocabulary, VocabularyTables] = WeakKeyDictionary()
"""An entry disappears when its vocabulary is freed: closing a model frees its tables."""


def tables_of(tokenizer: Vocabulary) -> VocabularyTables:
    found = TABLES.get(tokenizer)
    return TABLES.setdefault(tokenizer, VocabularyTables()) if found is None else found
