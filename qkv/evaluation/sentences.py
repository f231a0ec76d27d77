"""Find a translator's weaknesses: scores by sentence length, and the worst sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qkv.evaluation.scores import References, Scorer, present

STARTS = (0, 1, 6, 11, 16, 21, 31)  # words of the shortest sentence of each bucket
WORST = 20
PERFECT = 100 - 1e-6  # apart from rounding
MEASURE = "sentence chrF"  # meaningful for a single sentence, unlike BLEU, which is mostly 0


@dataclass(frozen=True, kw_only=True)
class LengthBucket:
    words: str  # a range such as 6–10
    sentences: int
    bleu: float
    chrf: float
    length_ratio: float  # words of translations per word of references, as BLEU counts them

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class WorstSentence:
    line: int  # from 1, as in an editor; the number of the pair in files with both sides
    score: float
    source: str | None
    references: list[str]
    translation: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def by_length(
    scorer: Scorer,
    hypotheses: Sequence[str],
    references: References,
    measured_on: Sequence[str],
) -> list[LengthBucket]:
    """Scores by sentence length, without empty buckets."""
    found = []
    for number, rows in sorted(rows_by_bucket(measured_on).items()):
        chosen = [hypotheses[row] for row in rows]
        chosen_references = [[each[row] for row in rows] for each in references]
        bleu = scorer.bleu.corpus_score(chosen, chosen_references)
        chrf = scorer.chrf.corpus_score(chosen, chosen_references)
        found.append(
            LengthBucket(
                words=bucket_name(number),
                sentences=len(rows),
                bleu=float(bleu.score),
                chrf=float(chrf.score),
                length_ratio=float(bleu.ratio),
            )
        )
    return found


def rows_by_bucket(texts: Sequence[str]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(bucket_of(len(text.split())), []).append(row)
    return rows


def bucket_of(words: int) -> int:
    return max(number for number, start in enumerate(STARTS) if start <= words)


def bucket_name(number: int) -> str:
    if number == len(STARTS) - 1:
        return f"{STARTS[number]}+"
    first, last = STARTS[number], STARTS[number + 1] - 1
    return f"{first}–{last}" if last > first else str(first)


def worst(
    scorer: Scorer,
    hypotheses: Sequence[str],
    references: References,
    source: Sequence[str] | None,
    *,
    lines: Sequence[int] = (),
    most: int = WORST,
) -> list[WorstSentence]:
    """The sentences with the lowest chrF below 100; ties are in the order of the file.

    `lines` are the numbers of the sentences, if they are not 1, 2, 3 …
    """
    aligned = [present(each) for each in zip(*references, strict=True)]
    scores = [
        float(scorer.chrf.sentence_score(hypothesis, each).score)
        for hypothesis, each in zip(hypotheses, aligned, strict=True)
    ]
    imperfect = [row for row, score in enumerate(scores) if score < PERFECT]
    rows = sorted(imperfect, key=lambda row: (scores[row], row))[:most]
    return [
        WorstSentence(
            line=lines[row] if lines else row + 1,
            score=scores[row],
            source=None if source is None else source[row],
            references=aligned[row],
            translation=hypotheses[row],
        )
        for row in rows
    ]
