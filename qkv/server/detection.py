"""Which language a text is in, among those that are served. Doubt is a low confidence."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from qkv.corpus.language import identifier
from qkv.data.language_codes import two_letters

FEWEST_WORDS = 5
"""Shorter texts follow the majority of the request: of two-word texts, one in five is identified wrongly."""
SURE = 0.5
FOREIGN = 0.1
"""If the served languages together are less likely than this, the text is probably in another language."""
MOST_CHARACTERS = 2_000  # more text does not change the result
WORD = re.compile(r"\w+")
WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")


@dataclass(frozen=True)
class Detected:
    language: str
    confidence: float
    """From 0 to 1. Below 0.5 the text may be in a language that is not served, or too short to tell."""


class Detector(Protocol):
    def rank(self, text: str, languages: Collection[str]) -> list[Detected]:
        """All these languages, the likeliest first."""
        ...


class LanguageDetector:
    """py3langid, restricted to the served languages. The confidence is low if another language is far likelier."""

    def rank(self, text: str, languages: Collection[str]) -> list[Detected]:
        known = {code: two_letters(code) or code for code in languages}
        if not any(map(str.isalpha, text)) or not languages:
            return [Detected(code, 0.0) for code in sorted(languages)]
        probabilities = dict(identifier(None).rank(text[:MOST_CHARACTERS]))
        shares = {code: float(probabilities.get(name, 0.0)) for code, name in known.items()}
        served = sum(shares.values())
        if served == 0:  # so unlike all of them that their probabilities vanish
            return [Detected(code, 0.0) for code in sorted(languages)]
        doubt = min(1.0, served / FOREIGN)
        found = [Detected(code, doubt * share / served) for code, share in shares.items()]
        return sorted(found, key=lambda each: (-each.confidence, each.language))


def count_words(text: str) -> float:
    """Scripts without spaces have about two characters per word."""
    characters = len(WITHOUT_SPACES.findall(text))
    return len(WORD.findall(WITHOUT_SPACES.sub(" ", text))) + characters / 2


def detect(detector: Detector, texts: Sequence[str], languages: Collection[str]) -> list[Detected]:
    """The language of each text of a request. Short or doubtful ones take the language of the majority."""
    own = [detector.rank(text, languages)[0] for text in texts]
    if len(texts) == 1:
        return own
    clear = [
        each.confidence >= SURE and count_words(text) >= FEWEST_WORDS
        for text, each in zip(texts, own, strict=True)
    ]
    if all(clear):
        return own
    usual = majority([each for each, is_clear in zip(own, clear, strict=True) if is_clear]) or majority(own)
    if usual is None:
        return own
    return [each if is_clear else usual for each, is_clear in zip(own, clear, strict=True)]


def majority(found: Sequence[Detected]) -> Detected | None:
    """The language of more than half of the texts, with its mean confidence. Confident ones count more."""
    weights: dict[str, list[float]] = {}
    for each in found:
        weights.setdefault(each.language, []).append(each.confidence)
    language, confidences = max(weights.items(), key=lambda pair: sum(pair[1]), default=("", []))
    if 2 * sum(confidences) <= sum(each.confidence for each in found):
        return None
    return Detected(language, sum(confidences) / len(confidences))
