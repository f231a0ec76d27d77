"""What is done with each line of a stage: translations of text and of true pairs, back-translations and reverse scores.

A line of a result is a source, a tab, its translation and further columns. So a result can be read without its input, and
also as a .tsv file of pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.families.translator.distillation.teachers import Teachers
from qkv.families.translator.forced import forced_log_probabilities
from qkv.families.translator.lines import without_line_breaks
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation

Done = Callable[[int], None]
NO_SCORE = "-"


@dataclass(frozen=True)
class TranslatedLine:
    """A line of a result."""

    source: str
    target: str
    score: float | None = None
    """Log-probability per token."""
    confidence: float | None = None
    """The probability that the translation is good."""

    def line(self) -> str:
        return "\t".join([self.source, self.target, number_text(self.score), number_text(self.confidence)])

    @classmethod
    def read(cls, line: str) -> "TranslatedLine":
        source, target, score, confidence = line.rstrip("\n").split("\t")
        return cls(source, target, read_number(score), read_number(confidence))


def number_text(value: float | None) -> str:
    return NO_SCORE if value is None else f"{value:.4f}"


def read_number(text: str) -> float | None:
    return None if text == NO_SCORE else float(text)


def translated(source: str, translation: Translation) -> str:
    scores = translation.log_probabilities
    text = without_line_breaks(translation.text).replace("\t", " ").strip()
    mean = sum(scores) / len(scores) if scores else None
    return TranslatedLine(source, text, mean, translation.confidence).line()


@dataclass(frozen=True)
class TextWork:
    """Translates lines of text with the teachers."""

    teachers: Teachers
    options: TranslationOptions

    def __call__(self, _first: int, lines: list[str], done: Done) -> list[str]:
        found = self.teachers.translate(lines, self.options, done)
        return [translated(line, each) for line, each in zip(lines, found, strict=True)]


@dataclass(frozen=True)
class HeldOutWork:
    """Translates the sources of pairs with the teachers."""

    teachers: Teachers
    options: TranslationOptions

    def __call__(self, first: int, lines: list[str], done: Done) -> list[str]:
        return TextWork(self.teachers, self.options)(first, [line.split("\t")[0] for line in lines], done)


@dataclass(frozen=True)
class PairWork:
    """Translates the sources of true pairs, and keeps of several hypotheses the one closest to the reference."""

    teachers: Teachers
    options: TranslationOptions
    count: int
    metric: Any
    """A metric of sacrebleu with `sentence_score`."""

    def __call__(self, _first: int, lines: list[str], done: Done) -> list[str]:
        pairs = [line.split("\t") for line in lines]
        proposed = self.teachers.propose([source for source, _ in pairs], self.options, self.count, done)
        return [
            translated(source, self.closest(found, reference))
            for (source, reference), found in zip(pairs, proposed, strict=True)
        ]

    def closest(self, hypotheses: Sequence[Translation], reference: str) -> Translation:
        """Of equally close ones, the first: it is the likeliest."""
        if len(hypotheses) == 1:
            return hypotheses[0]
        scores = [self.metric.sentence_score(each.text, [reference]).score for each in hypotheses]
        return hypotheses[scores.index(max(scores))]


@dataclass(frozen=True)
class BackTranslationWork:
    """Translates text of the target language with the reverse model. The text becomes the target."""

    reverse: Teachers
    tag: str

    def __call__(self, _first: int, lines: list[str], done: Done) -> list[str]:
        found = self.reverse.translate(lines, self.reverse.options(None, None), done)
        return [self.pair(line, each) for line, each in zip(lines, found, strict=True)]

    def pair(self, line: str, back: Translation) -> str:
        source = TranslatedLine.read(translated(line, back))
        marked = f"{self.tag} {source.target}".strip()
        return TranslatedLine(marked, line, source.score, source.confidence).line()


@dataclass(frozen=True)
class ReverseWork:
    """Scores translations: the log-probability per token of the source, given its translation."""

    reverse: Teachers

    def __call__(self, _first: int, lines: list[str], done: Done) -> list[str]:
        found = [TranslatedLine.read(line) for line in lines]
        forced = forced_log_probabilities(
            self.reverse.ensembles[0]._pipeline,
            [each.target for each in found],
            [each.source for each in found],
            self.reverse.options(None, None),
            done,
        )
        return [number_text(None if each is None else sum(each) / len(each)) for each in forced]
