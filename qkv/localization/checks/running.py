"""Run checks on the units of a file, and correct what can be corrected."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from qkv.documents.document import Edit, NewText
from qkv.localization.checks.reading import Bilingual
from qkv.localization.checks.unit import Check, FileCheck, Finding, Found, Unit

AnyCheck = Check | FileCheck


@dataclass(frozen=True, kw_only=True)
class FileResult:
    findings: tuple[Finding, ...]
    corrected: bytes | None
    """The file with its corrections; None if there are none."""


def check_file(
    file: Bilingual, checks: Sequence[AnyCheck], *, fix: bool, advance: Callable[[int], object]
) -> FileResult:
    of_file = (each for each in checks if isinstance(each, FileCheck))
    found = [
        (place, finding_of(file, file.units[place], check, message))
        for check in of_file
        for place, message in check.find(file.units)
    ]
    edits: list[Edit] = []
    single = [each for each in checks if isinstance(each, Check)]
    for place, unit in enumerate(file.units):
        own = list(findings_in(file, unit, single))
        if fix and own and unit.segment:
            text, fixed = corrected(
                unit, [each for each in single if each.name in {one.check for one in own}]
            )
            own = [replace(each, fixed=each.check in fixed) for each in own]
            if text != unit.target:
                edits += unit.segment.edits(NewText(text))
        found += [(place, each) for each in own]
        advance(1)
    ordered = sorted(found, key=lambda each: each[0])
    return FileResult(
        findings=tuple(finding for _, finding in ordered),
        corrected=file.splice(file.content, edits) if edits else None,
    )


def findings_in(file: Bilingual, unit: Unit, checks: Iterable[Check]) -> Iterator[Finding]:
    for check in checks:
        for message in messages_of(check, unit):
            yield finding_of(file, unit, check, message)


def messages_of(check: Check, unit: Unit) -> Found:
    """What a check says. A doubtful translation is not used before somebody reviews it, so it is only named as such."""
    applies = unit.is_translated and bool(unit.source) and (unit.state != "fuzzy" or check.name == "doubtful")
    return check.find(unit) if applies or check.also_untranslated else iter(())


def corrected(unit: Unit, checks: Iterable[Check]) -> tuple[str, set[str]]:
    """The translation after all corrections, and the names of the checks that no longer complain."""
    fixed = set()
    for check in checks:
        if check.fix is None:
            continue
        better = replace(unit, target=check.fix(unit))
        if better.target != unit.target and not any(messages_of(check, better)):
            unit = better
            fixed.add(check.name)
    return unit.target, fixed


def finding_of(file: Bilingual, unit: Unit, check: AnyCheck, message: str) -> Finding:
    return Finding(
        check=check.name,
        severity=check.severity,
        message=message,
        file=str(file.path),
        line=unit.line,
        source=unit.source,
        target=unit.target,
        key=unit.key,
        context=unit.context,
    )
