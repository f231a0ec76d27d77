"""Translations with their scores, and the joining of segments into one text."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from qkv.families.translator.options import ConfidenceOptions

Links = list[tuple[int, int]]  # source word, target word; both counted from 0


@dataclass(frozen=True)
class Word:
    """A word of a translation, split at spaces, and its log-probability."""

    text: str
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A translation with its scores: what `translate(…, details=True)` returns.

    Example:
        >>> found = qkv.load("runs/en-de").translate("one two", details=True)
        >>> all(word.text in found.text for word in found.words)
        True
        >>> found.log_probability < 0
        True
    """

    text: str
    score: float
    """What the search maximized: the log-probability divided by the length penalty."""
    log_probabilities: tuple[float, ...] = ()
    """Of every token, including the end token. Empty if the text was copied."""
    words: tuple[Word, ...] = ()
    """The words of the text with their log-probabilities."""
    confidence: float | None = None
    """The probability that this translation is good; None if the model was not calibrated."""
    alignment: Links | None = None
    """Pairs of a source word and a target word (split at spaces), counted from 0."""
    unsure: bool = False
    """Whether the confidence is lower than the minimum that was asked for."""
    segments: "tuple[tuple[str, Translation], ...]" = ()
    """The segments of the source, with the white space around them, and their translations. Empty if there is only one."""

    @property
    def log_probability(self) -> float:
        """The sum over all tokens."""
        return sum(self.log_probabilities)

    def _repr_html_(self) -> str:
        """For notebooks: the less likely a word, the darker its background."""
        words = "".join(
            f"<span style='background: rgba(220, 120, 0, {1 - math.exp(word.log_probability):.2f})'>"
            f"{html.escape(word.text)}</span> "
            for word in self.words
        )
        sure = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        return f"<p>{words or html.escape(self.text)}<br><small>score {self.score:.3f}{sure}</small></p>"

    def pharaoh(self, shift: int = 0) -> str:
        """The alignment in Pharaoh format, with target words counted from `shift`.

        Args:
            shift: The number of the first target word.

        Returns:
            Pairs such as "0-0 1-2".

        Example:
            >>> qkv.Translation(text="der Hund", score=0.0, alignment=[(0, 0), (1, 1)]).pharaoh()
            '0-0 1-1'
        """
        return " ".join(f"{source}-{target + shift}" for source, target in self.alignment or [])


UNSURE = "[unsure] "  # marks a text below the minimum confidence


def judged(translation: Translation, options: ConfidenceOptions) -> Translation:
    """With `unsure` set, and without its text if it is to be withheld. A copied text has no confidence and is never unsure."""
    least, confidence = options.min_confidence, translation.confidence
    if least is None or confidence is None or confidence >= least:
        return translation
    if options.withhold:
        return replace(translation, unsure=True, text="", words=(), alignment=None, segments=())
    return replace(translation, unsure=True)


FEATURES = 3  # see `features_of`


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """A logistic regression on the log-probabilities of tokens, fitted on the validation set."""

    bias: float
    weights: tuple[float, ...]
    good: str
    """Which translations counted as good when this was fitted."""
    least: float = 1 / 1002
    most: float = 1001 / 1002
    """Bounds that the validation set supports: with n sentences, 1 / (n + 2) and one minus that.
    Bundles of earlier versions lack them; they were fitted on at most 1,000 sentences."""

    def __post_init__(self) -> None:
        if len(self.weights) != FEATURES:
            raise ValueError(f"a confidence must have {FEATURES} weights, not {len(self.weights)}")

    def of(self, features: Sequence[float]) -> float:
        total = self.bias + sum(w * x for w, x in zip(self.weights, features, strict=True))
        probability = 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
        return max(self.least, min(self.most, probability))


RISING = (0, 1)  # features whose higher values make a good translation more likely


def features_of(log_probabilities: Sequence[float]) -> tuple[float, ...]:
    """The mean and minimum log-probability of the tokens, and the logarithm of their number."""
    mean = sum(log_probabilities) / len(log_probabilities)
    return mean, max(-20.0, min(log_probabilities)), math.log(len(log_probabilities))


def distinct(translations: Iterable[Translation]) -> list[Translation]:
    """Keep the first of each text: different token sequences can decode to the same text."""
    found: dict[str, Translation] = {}
    for translation in translations:
        found.setdefault(translation.text, translation)
    return list(found.values())


def joined(parts: Sequence[Translation], sources: Sequence[str], texts: Sequence[str]) -> Translation:
    """Join the translations of segments. `texts` are their texts with the surrounding white space."""
    if len(parts) == 1:
        return parts[0] if texts[0] == parts[0].text else replace(parts[0], text=texts[0])
    confidences = [each.confidence for each in parts if each.confidence is not None]
    links: Links = []
    offsets = zip(words_before(sources), words_before(texts), strict=True)
    for part, (source_offset, target_offset) in zip(parts, offsets, strict=True):
        links += [(source_offset + one, target_offset + other) for one, other in part.alignment or []]
    return Translation(
        text="".join(texts),
        score=sum(each.score for each in parts),
        log_probabilities=tuple(value for each in parts for value in each.log_probabilities),
        words=tuple(word for each in parts for word in each.words),
        confidence=min(confidences, default=None),  # a text is as good as its worst segment
        alignment=list(dict.fromkeys(links)) if any(each.alignment is not None for each in parts) else None,
        segments=tuple(zip(sources, parts, strict=True)),
    )


def words_before(parts: Sequence[str]) -> list[int]:
    """The index of each part's first word in the whole text. A part can end inside a word, such as <li> in "<li>cats"."""
    found: list[int] = []
    total, last = 0, " "
    for part in parts:
        within = bool(part) and not last.isspace() and not part[0].isspace()
        found.append(total - within)
        total += len(part.split()) - within
        last = part[-1:] or last
    return found


def together(parts: Sequence[tuple[str, list[Translation]]], count: int) -> list[Translation]:
    """Combine the translations of segments into those of the text: the best sums of scores, best first."""
    ranks: list[tuple[float, tuple[int, ...]]] = [(0.0, () if count > 1 else (0,) * len(parts))]
    for _, translations in parts if count > 1 else []:
        grown = [
            (total - each.score, (*chosen, rank))
            for total, chosen in ranks
            for rank, each in enumerate(translations[:count])
        ]
        ranks = sorted(grown)[:count]
    found = []
    for _, chosen in ranks:
        each = [
            (source, translations[rank]) for (source, translations), rank in zip(parts, chosen, strict=True)
        ]
        texts = [surrounded(source, translation.text) for source, translation in each]
        found.append(joined([translation for _, translation in each], [source for source, _ in each], texts))
    return found


def surrounded(source: str, translation: str) -> str:
    """The translation with the white space around its source."""
    if not source.strip():
        return source
    before, after = source[: len(source) - len(source.lstrip())], source[len(source.rstrip()) :]
    return before + translation + after
