"""What a translator says, and what it can say about it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

Links = list[tuple[int, int]]  # source word, target word; both counted from 0


@dataclass(frozen=True)
class Word:
    text: str
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    text: str
    score: float
    """What the search maximised: log-probability over the length penalty."""
    log_probabilities: tuple[float, ...] = ()
    """Of every piece, the end included; nothing where the text was copied."""
    words: tuple[Word, ...] = ()
    confidence: float | None = None
    """How likely a good translation is; None where the model was not calibrated."""
    alignment: Links | None = None
    """Pairs of words between spaces, where they were asked for."""

    @property
    def log_probability(self) -> float:
        return sum(self.log_probabilities)

    def pharaoh(self, shift: int = 0) -> str:
        """The alignment as people write it, target words counted from `shift`."""
        return " ".join(f"{source}-{target + shift}" for source, target in self.alignment or [])


FEATURES = 3  # see `features_of`


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """A logistic regression on what the model thinks of its own words, fitted on the validation set."""

    bias: float
    weights: tuple[float, ...]
    good: str
    """What counted as a good translation when this was fitted."""
    least: float = 1 / 1002
    most: float = 1001 / 1002
    """What the validation set supports: with n sentences, no less than 1 / (n + 2), and no more than one minus that.
    A bundle of an earlier version does not say; it was fitted on 1,000 sentences at most."""

    def __post_init__(self) -> None:
        if len(self.weights) != FEATURES:
            raise ValueError(f"a confidence has {FEATURES} weights, not {len(self.weights)}")

    def of(self, features: Sequence[float]) -> float:
        total = self.bias + sum(w * x for w, x in zip(self.weights, features, strict=True))
        probability = 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
        return max(self.least, min(self.most, probability))


RISING = (0, 1)  # features that make a good translation more likely, the more there is of them


def features_of(log_probabilities: Sequence[float]) -> tuple[float, ...]:
    """Mean and least log-probability of the pieces, and the logarithm of their number."""
    mean = sum(log_probabilities) / len(log_probabilities)
    return mean, max(-20.0, min(log_probabilities)), math.log(len(log_probabilities))


def distinct(answers: Iterable[Answer]) -> list[Answer]:
    """The first of each text: two sequences of pieces may read alike."""
    found: dict[str, Answer] = {}
    for answer in answers:
        found.setdefault(answer.text, answer)
    return list(found.values())


def joined(parts: Sequence[Answer], sources: Sequence[str], texts: Sequence[str]) -> Answer:
    """The answers to the pieces of a text as one; `texts` are those of the answers, with the space around them."""
    if len(parts) == 1:
        return replace(parts[0], text=texts[0])
    confidences = [each.confidence for each in parts if each.confidence is not None]
    links: Links = []
    read, said = words_before(sources), words_before(texts)
    for part, one_offset, other_offset in zip(parts, read, said, strict=True):
        links += [(one_offset + one, other_offset + other) for one, other in part.alignment or []]
    return Answer(
        text="".join(texts),
        score=sum(each.score for each in parts),
        log_probabilities=tuple(value for each in parts for value in each.log_probabilities),
        words=tuple(word for each in parts for word in each.words),
        confidence=min(confidences, default=None),  # a text is as good as its worst piece
        alignment=list(dict.fromkeys(links)) if any(each.alignment is not None for each in parts) else None,
    )


def words_before(parts: Sequence[str]) -> list[int]:
    """The number of the first word of each part in the whole; a part can end within a word, as <li> in "<li>cats"."""
    found: list[int] = []
    total, last = 0, " "
    for part in parts:
        within = bool(part) and not last.isspace() and not part[0].isspace()
        found.append(total - within)
        total += len(part.split()) - within
        last = part[-1:] or last
    return found


def together(parts: Sequence[tuple[str, list[Answer]]], count: int) -> list[Answer]:
    """The answers to the pieces of a text, best first, as answers to the text: the best sums of their scores."""
    ranks: list[tuple[float, tuple[int, ...]]] = [(0.0, () if count > 1 else (0,) * len(parts))]
    for _, answers in parts if count > 1 else []:
        grown = [
            (total - each.score, (*chosen, rank))
            for total, chosen in ranks
            for rank, each in enumerate(answers[:count])
        ]
        ranks = sorted(grown)[:count]
    found = []
    for _, chosen in ranks:
        each = [(piece, answers[rank]) for (piece, answers), rank in zip(parts, chosen, strict=True)]
        texts = [surrounded(piece, answer.text) for piece, answer in each]
        found.append(joined([answer for _, answer in each], [piece for piece, _ in each], texts))
    return found


def surrounded(piece: str, translation: str) -> str:
    """The translation with the white space that stood around its source."""
    if not piece.strip():
        return piece
    before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
    return before + translation + after
