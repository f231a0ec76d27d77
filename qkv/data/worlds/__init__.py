"""Three small built-in languages: unlimited sentence pairs, with gold alignments and references of pronouns."""

from qkv.data.worlds.decks import DECK_SENTENCES
from qkv.data.worlds.pairs import (
    LANGUAGES,
    Pair,
    Part,
    Reference,
    deck_pairs,
    pairs,
    pairs_apart,
    reference_agrees,
    words,
)

__all__ = [
    "DECK_SENTENCES",
    "LANGUAGES",
    "Pair",
    "Part",
    "Reference",
    "deck_pairs",
    "pairs",
    "pairs_apart",
    "reference_agrees",
    "words",
]
