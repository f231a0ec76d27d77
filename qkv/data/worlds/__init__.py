"""Three small languages of our own making: unlimited pairs, with their gold alignment and references."""

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
