"""Equal texts with different translations, and different texts with equal translations."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from qkv.localization.checks.placeholders import shortened
from qkv.localization.checks.unit import FileCheck, Unit


def groups(units: Sequence[Unit], by: str) -> Iterator[list[tuple[int, Unit]]]:
    """Translated units with an equal text. Plural forms of one message differ in either."""
    found: dict[str, list[tuple[int, Unit]]] = defaultdict(list)
    for place, unit in enumerate(units):
        if unit.is_translated and not unit.plural:
            found[getattr(unit, by)].append((place, unit))
    return (each for each in found.values() if len(each) > 1)


def several_translations(units: Sequence[Unit]) -> Iterator[tuple[int, str]]:
    for group in groups(units, "source"):
        first = group[0][1]
        for place, unit in group[1:]:
            if unit.target != first.target and unit.context == first.context:
                yield place, f"was translated as '{shortened(first.target)}' in line {first.line:,}"


def one_translation(units: Sequence[Unit]) -> Iterator[tuple[int, str]]:
    for group in groups(units, "target"):
        first = group[0][1]
        for place, unit in group[1:]:
            if unit.source.casefold() != first.source.casefold():
                yield place, f"is also the translation of '{shortened(first.source)}' in line {first.line:,}"


INCONSISTENT = FileCheck(
    name="inconsistent",
    severity="warning",
    summary="One text has several translations in the same context.",
    find=several_translations,
)
REUSED = FileCheck(
    name="reused",
    severity="info",
    summary="Several texts have one translation.",
    find=one_translation,
)
