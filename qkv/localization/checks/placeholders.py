"""Placeholders: what a program puts values into, and must find in a translation."""

from collections import Counter
from collections.abc import Iterator, Sequence

from qkv.localization.checks.arguments import READERS, argument_problems
from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.protect import DIALECTS, Kind, Protection, protected_spans


def spans_in(text: str, protected: Sequence[Protection]) -> list[str]:
    """Protected spans except entities, which are a way to write characters."""
    return [span.text for span in protected_spans(text, protected) if not span.text.startswith("&")]


def difference(before: Counter[str], after: Counter[str]) -> str:
    """What was lost and what was added, for a message."""
    parts = [
        f"{what} {', '.join(map(shortened, counts.elements()))}"
        for what, counts in (("lost", before - after), ("added", after - before))
        if counts
    ]
    return "; ".join(parts)


def shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def wrong_format(unit: Unit) -> Found:
    """Placeholders of a dialect that the file states: a program fails or shows rubbish if they do not fit."""
    if unit.dialect in READERS:
        problem = argument_problems(unit.reference, unit.target, unit.dialect, may_omit=unit.is_rare)
        if problem:
            yield f"{unit.dialect}: {problem}"
    elif unit.dialect in DIALECTS and unit.dialect != "icu-format":
        yield from different_spans(unit, unit.dialect)


def wrong_placeholders(unit: Unit) -> Found:
    """Placeholders of an unknown dialect: those that can hardly be anything else."""
    if unit.dialect is None:
        yield from different_spans(unit, "placeholders")


def different_spans(unit: Unit, kind: Kind) -> Iterator[str]:
    before, after = (Counter(spans_in(text, [kind])) for text in (unit.reference, unit.target))
    if unit.is_rare and not after - before:
        return
    if after not in (before, Counter(spans_in(unit.source, [kind]))):
        yield f"placeholders differ: {difference(before, after)}"


FORMAT = Check(
    name="format",
    severity="error",
    summary="Placeholders do not fit, in a dialect that the file states.",
    find=wrong_format,
)
PLACEHOLDERS = Check(
    name="placeholders",
    severity="warning",
    summary="Placeholders differ; the file does not state their dialect.",
    find=wrong_placeholders,
)
