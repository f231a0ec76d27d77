"""Clean a parallel corpus: read it a few times, and decide for every pair whether to keep it.

Between two passes only a reason, a fingerprint and a signature of each pair are in memory, about 100 bytes per pair, however
long the texts are. A decision depends on the corpus and the settings, not on the number of processes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from itertools import compress, islice, zip_longest
from typing import TypeVar

import numpy as np

from qkv.corpus.duplicates import first_occurrences, originals
from qkv.corpus.held_out import HeldOut
from qkv.corpus.judge import Judge, Judged, Languages
from qkv.corpus.lexicon import Lexicon, learn_lexicon
from qkv.corpus.processes import judge_in_processes
from qkv.corpus.reasons import DUPLICATE, HELD_OUT, KEPT, MISALIGNED, NEAR_DUPLICATE, NUMBER, REASONS, Reasons
from qkv.corpus.records import Corpus, Record
from qkv.corpus.report import CleanReport, Examples
from qkv.corpus.settings import CleanSettings, check_clean
from qkv.errors import DataError

CHUNK = 5_000  # pairs per task
SAMPLE = 100_000  # pairs that the dictionary is learned from
SHORT = 200  # characters: a dictionary is learned faster and better from short sentences

Item = TypeVar("Item")
Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Takes the name of a pass and the number of its pairs; returns a function that takes newly finished pairs."""


def silent(_what: str, _total: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda _count: None)


def clean(
    corpus: Corpus,
    settings: CleanSettings,
    languages: Languages,
    *,
    held_out: HeldOut | None = None,
    write: Callable[[Record], object],
    processes: int = 1,
    progress: Progress = silent,
) -> CleanReport:
    """Write the pairs that are kept, in order, and report what was dropped."""
    check_clean(settings)
    reasons = decide(corpus, Judge(settings, languages, held_out or HeldOut()), processes, progress)
    examples = Examples()
    for record, number in with_reasons(corpus, reasons):
        if number == KEPT:
            write(record)
        else:
            examples.add(REASONS[number], record)
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return CleanReport(
        total=len(reasons),
        kept=counts[KEPT],
        dropped={reason: count for reason, count in zip(REASONS[1:], counts[1:], strict=True) if count},
        examples=examples.to_dict(),
        settings=asdict(settings),
    )


def decide(corpus: Corpus, judge: Judge, processes: int, progress: Progress) -> Reasons:
    """The number of the reason for every pair."""
    total = sum(1 for _ in corpus())  # finds a damaged file before the work starts
    judged = judge_one_by_one(corpus, judge, total, processes, progress)
    reasons = without_duplicates(judged, judge.settings, judge.held_out)
    if judge.settings.min_alignment is None:
        return reasons
    return without_misaligned(corpus, judge.settings.min_alignment, reasons, progress)


def judge_one_by_one(corpus: Corpus, judge: Judge, total: int, processes: int, progress: Progress) -> Judged:
    texts = ((record.source, record.target) for record in corpus())
    parts = [Judged.empty()]
    useful = min(processes, -(-total // CHUNK))  # a small corpus needs no further processes
    with progress("filtering", total) as done:
        for judged in judge_in_processes(judge, chunks(texts), useful):
            parts.append(judged)
            done(len(judged.reasons))
    return Judged.join(parts)


def without_duplicates(judged: Judged, settings: CleanSettings, held_out: HeldOut) -> Reasons:
    """Near duplicates of held-out pairs get that reason."""
    reasons = judged.reasons.copy()
    rows = np.flatnonzero(reasons == KEPT)
    if settings.duplicates:
        reasons[rows[~first_occurrences(judged.fingerprints)]] = NUMBER[DUPLICATE]
    if settings.near_duplicates:
        known = len(held_out.signatures)
        all_signatures = np.concatenate([held_out.signatures, judged.signatures])
        original = originals(all_signatures, settings.near_duplicates)[known:]
        near = (original >= 0) & (reasons[rows] == KEPT)
        reasons[rows[near]] = NUMBER[NEAR_DUPLICATE]
        reasons[rows[(original >= 0) & (original < known)]] = NUMBER[HELD_OUT]
    return reasons


def without_misaligned(corpus: Corpus, least: float, reasons: Reasons, progress: Progress) -> Reasons:
    """A pair without a score, because its words are unknown, is kept."""
    reasons = reasons.copy()
    rows = np.flatnonzero(reasons == KEPT)
    if not len(rows):
        return reasons
    lexicon = learn_from_sample(corpus, reasons, len(rows))
    scores = []
    with progress("scoring alignments", len(rows)) as done:
        for chunk in chunks(kept_pairs(corpus, reasons)):
            scores.append(lexicon.scores(chunk))
            done(len(chunk))
    reasons[rows[np.concatenate(scores) < least]] = NUMBER[MISALIGNED]
    return reasons


def learn_from_sample(corpus: Corpus, reasons: Reasons, total: int) -> Lexicon:
    """Learn from pairs spread evenly over the corpus."""
    sample = islice(kept_pairs(corpus, reasons), 0, None, max(1, total // SAMPLE))
    short = (pair for pair in sample if max(map(len, pair)) <= SHORT)
    return learn_lexicon(islice(short, SAMPLE))


def with_reasons(corpus: Corpus, reasons: Reasons) -> Iterator[tuple[Record, int]]:
    for record, number in zip_longest(corpus(), reasons.tolist()):
        if record is None or number is None:
            raise DataError("the corpus changed while it was read. Run the command again.")
        yield record, number


def kept_pairs(corpus: Corpus, reasons: Reasons) -> Iterator[tuple[str, str]]:
    kept = compress(corpus(), (reasons == KEPT).tolist())
    return ((record.source, record.target) for record in kept)


def chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
