"""Settings of `qkv clean`. Whether a pair is kept depends only on the corpus and these settings."""

import math
from dataclasses import dataclass
from typing import Literal

from qkv.errors import check_rules


@dataclass(frozen=True, kw_only=True)
class CleanSettings:
    min_length: int = 2
    """Drop pairs with a side of fewer characters than this."""
    max_length: int = 1000
    """Drop pairs with a side of more characters than this."""
    max_words: int = 0
    """Drop pairs with a side of more words than this; 0 for no limit."""
    max_ratio: float = 2.5
    """Drop pairs in which one side is more than this many times as long as the other, unless both are short."""
    min_letters: float = 0.5
    """Drop pairs with a side in which fewer than this share of the characters, spaces aside, are letters."""
    min_script: float = 0.7
    """Drop pairs with a side in which fewer than this share of the letters are in the script of its language."""
    markup: Literal["keep", "same", "drop"] = "same"
    """Tags, entities and links: keep all, drop pairs whose two sides differ in them, or drop all pairs with any."""
    max_copied: float = 0.8
    """Drop pairs of several words in which more than this share of the words is the same on both sides."""
    max_numbers: int = 1
    """Drop pairs in which more numbers than this have no counterpart on the other side."""
    language_confidence: float = 0.8
    """Drop pairs with a side that is, with at least this probability, in another language; 0 to skip the check."""
    duplicates: bool = True
    """Drop pairs that repeat an earlier pair, apart from case, punctuation and white space."""
    near_duplicates: float = 0.8
    """Drop pairs that share this much with an earlier pair (Jaccard similarity of word pairs); 0 to skip the check."""
    min_alignment: float | None = 0.3
    """Drop pairs whose alignment score is below this. It is about 2 for translations and below 0 for texts that have
    nothing to do with each other. None skips the check."""


def check_clean(settings: CleanSettings) -> None:
    shares = ("min_letters", "min_script", "max_copied", "language_confidence", "near_duplicates")
    check_rules(
        [
            ("min_length", "must be at least 1", settings.min_length >= 1),
            (
                "max_length",
                "must not be less than {min_length}",
                settings.max_length >= settings.min_length,
            ),
            ("max_words", "must not be negative", settings.max_words >= 0),
            ("max_ratio", "must be at least 1", settings.max_ratio >= 1),
            ("max_numbers", "must not be negative", settings.max_numbers >= 0),
            *((name, "must be in [0, 1]", 0 <= getattr(settings, name) <= 1) for name in shares),
            ("min_alignment", "must be a finite number", math.isfinite(settings.min_alignment or 0)),
        ]
    )
