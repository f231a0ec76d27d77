"""What people did with translations: compare a reviewed file with the report of the job that translated it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qkv.data.lines import numbered_lines
from qkv.documents import Segment
from qkv.errors import DataError
from qkv.localization.checks.reading import read_any
from qkv.localization.entry import Entry

Verdict = Literal["accepted", "changed", "rejected", "added", "unreviewed"]
BY_PEOPLE = ("file", "held", "withheld")  # origins of what the job left as it was
Name = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A line of the report of a job."""

    name: Name
    """Key, context and plural form."""
    source: str
    target: str
    origin: str

    @property
    def is_by_job(self) -> bool:
        return self.origin not in BY_PEOPLE


@dataclass(frozen=True, kw_only=True)
class Review:
    """A translation before and after somebody reviewed it."""

    verdict: Verdict
    source: str
    before: str
    after: str
    context: str


def read_report(path: Path) -> list[Reported]:
    found = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("source"), str):
            raise DataError(
                f"{path}, line {number} is no line of a report: give the .report.jsonl of the translated file."
            )
        found.append(
            Reported(
                name=(text_of(record, "key"), text_of(record, "context"), text_of(record, "plural")),
                source=record["source"],
                target=text_of(record, "target"),
                origin=text_of(record, "origin"),
            )
        )
    return found


def text_of(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def read_reviewed(path: Path, content: bytes) -> tuple[list[Segment], str | None]:
    """The segments of a reviewed file, and the target language that it states."""
    document = read_any(path, content)
    return list(document.segments), document.target_language


def reviews_of(report: Sequence[Reported], segments: Sequence[Segment]) -> Iterator[Review]:
    """One for each text of the job, and for each that people translated instead.

    Strings belong together by key, context and plural form; the same ones, and those without, by their order.
    """
    waiting: dict[Name, list[Segment]] = defaultdict(list)
    for segment in reversed(segments):
        waiting[segment.key, segment.context, segment.plural].append(segment)
    for reported in report:
        found = waiting[reported.name]
        review = review_of(reported, found.pop() if found else None)
        if review is not None:
            yield review


def review_of(reported: Reported, segment: Segment | None) -> Review | None:
    """None for a text that neither the job nor the reviewer translated."""
    after = segment.current if segment is not None else ""
    if not reported.is_by_job:
        is_new = bool(after.strip()) and after != reported.target and after != reported.source
        verdict: Verdict | None = "added" if is_new else None
    elif segment is not None and segment.state == "fuzzy" and segment.target is not None:
        verdict = "unreviewed"
    elif not after.strip():
        verdict = "rejected"
    else:
        verdict = "accepted" if after == reported.target else "changed"
    if verdict is None:
        return None
    return Review(
        verdict=verdict,
        source=reported.source,
        before=reported.target,
        after=after,
        context=reported.name[1],
    )


def entries_of(reviews: Iterable[Review], origin: str) -> Iterator[Entry]:
    """What enters a memory: everything that a person accepted or wrote."""
    for review in reviews:
        if review.verdict in ("accepted", "changed", "added") and review.source.strip():
            yield Entry(
                source=review.source,
                target=review.after,
                context=review.context,
                origin=f"{origin} ({review.verdict})",
            )
