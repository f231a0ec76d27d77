"""Choose what the student learns: drop bad translations, and mix the rest with the true pairs.

All results are read twice, line by line. Between the two passes a reason, a fingerprint and a score of each line are in memory.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qkv.corpus.clean import Progress
from qkv.corpus.duplicates import first_occurrences, pair_fingerprint
from qkv.corpus.filters import Pair, first_filter
from qkv.corpus.output import new_records
from qkv.corpus.records import Record
from qkv.corpus.report import Examples
from qkv.corpus.settings import CleanSettings
from qkv.corpus.words import words
from qkv.errors import DataError
from qkv.families.translator.distillation.options import DistillOptions
from qkv.families.translator.distillation.translating import TranslatedLine, read_number
from qkv.families.translator.guarantees.repetition import is_loop, repeats_a_word

REPEATED, UNSURE, REVERSE, DUPLICATE = "repetition", "low confidence", "low reverse score", "duplicate"
UNSCORED = "too long for the reverse model"
TRUE, TRANSLATED, CLOSEST, BACK = "true pairs", "translated text", "translated pairs", "back-translated text"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Pairs of one origin: a file, and the file of their reverse scores if they have any."""

    origin: str
    path: Path
    reverse: Path | None = None
    tag: str = ""

    def rows(self) -> Iterator[tuple[TranslatedLine, float | None]]:
        """Each pair with its reverse score."""
        with open(self.path, encoding="utf-8", newline="\n") as file:
            if self.reverse is None:
                yield from zip(map(self.read, file), repeat(None), strict=False)
                return
            with open(self.reverse, encoding="utf-8", newline="\n") as scores:
                yield from zip(
                    map(self.read, file), (read_number(each.rstrip("\n")) for each in scores), strict=True
                )

    def read(self, line: str) -> TranslatedLine:
        if self.origin == TRUE:
            source, target = line.rstrip("\n").split("\t")[:2]
            return TranslatedLine(source, target)
        return TranslatedLine.read(line)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The filters of single translations."""

    options: DistillOptions
    max_characters: int

    @property
    def settings(self) -> CleanSettings:
        # Text of a domain may be full of markup: the teachers keep it, or the length tells.
        return CleanSettings(
            min_length=1,
            max_length=self.max_characters,
            max_ratio=self.options.max_ratio,
            max_copied=self.options.max_copied,
            min_letters=0.0,
            markup="keep",
        )

    def reason(self, part: Part, row: TranslatedLine, score: float | None) -> str | None:
        """Why a translation is dropped; None if it is kept so far. True pairs are kept."""
        if part.origin == TRUE:
            return None
        source = row.source.removeprefix(part.tag).strip() if part.tag else row.source
        found = first_filter(Pair(source, row.target), self.settings)
        if found is not None:
            return found
        written, read = (row.target, source) if part.origin != BACK else (source, row.target)
        if repeats_a_word(written, [read]) or is_loop(numbered(written), numbered(read)):
            return REPEATED
        least = self.options.min_confidence
        if least is not None and row.confidence is not None and row.confidence < least:
            return UNSURE
        return UNSCORED if part.reverse is not None and score is None else None


def numbered(text: str) -> list[int]:
    """The words as numbers: equal words have equal numbers."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(word, len(numbers)) for word in words(text)]


@dataclass(frozen=True)
class Judged:
    """For every line of all parts: a reason by number, 0 if it is kept."""

    reasons: list[str]
    numbers: NDArray[np.uint8]


def judge(parts: Sequence[Part], choose: Filter, total: int, progress: Progress) -> Judged:
    """Judge each line on its own, then drop duplicates and the lowest reverse scores."""
    reasons = ["kept", REVERSE, DUPLICATE]
    numbers, prints, scores, true = array("B"), array("Q"), array("f"), array("B")
    with progress("filtering", total) as done:
        for part in parts:
            for row, score in part.rows():
                reason = choose.reason(part, row, score) or "kept"
                if reason not in reasons:
                    reasons.append(reason)
                numbers.append(reasons.index(reason))
                prints.append(pair_fingerprint(row.source, row.target))
                scores.append(float("nan") if score is None else score)
                true.append(part.origin == TRUE)
                done(1)
    found, fixed = np.frombuffer(numbers, np.uint8).copy(), np.frombuffer(true, np.uint8) == 1
    if choose.options.duplicates:
        kept = np.flatnonzero(found == 0)
        again = kept[~first_occurrences(np.frombuffer(prints, np.uint64)[kept])]
        found[again[~fixed[again]]] = reasons.index(DUPLICATE)
    lowest = lowest_scores(np.frombuffer(scores, np.float32), found == 0, choose.options.reverse_drop)
    found[lowest] = reasons.index(REVERSE)
    return Judged(reasons, found)


def lowest_scores(scores: NDArray[np.float32], kept: NDArray[np.bool_], share: float) -> NDArray[np.int64]:
    """The rows of the lowest scores: this share of the rows that have one."""
    rows = np.flatnonzero(kept & ~np.isnan(scores))
    order = np.argsort(scores[rows], kind="stable")
    return rows[order[: int(share * len(rows))]]


def mix(
    parts: Sequence[Part],
    choose: Filter,
    output: Path,
    totals: Sequence[int],
    progress: Progress,
) -> dict[str, Any]:
    """Write the training data of the student, and report what was dropped from which part, with examples."""
    judged = judge(parts, choose, sum(totals), progress)
    examples, start = Examples(), 0
    report: dict[str, Any] = {}
    with new_records(output) as write:
        for part in parts:
            dropped: Counter[str] = Counter()
            row = -1
            for row, (pair, _) in enumerate(part.rows()):
                reason = judged.reasons[judged.numbers[start + row]]
                dropped[reason] += 1
                if reason != "kept":
                    examples.add(reason, Record(pair.source, pair.target))
                    continue
                for _ in range(choose.options.repeat_pairs if part.origin == TRUE else 1):
                    write(Record(pair.source, pair.target))
            start += row + 1
            report[part.origin] = {"pairs": row + 1, "kept": dropped.pop("kept", 0), "dropped": dict(dropped)}
        if not any(each["kept"] for origin, each in report.items() if origin != TRUE):
            raise DataError(
                "every translation was dropped by the filters. Check the teachers, or relax the filters."
            )
    return {"parts": report, "examples": examples.to_dict()}
