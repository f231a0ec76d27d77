"""White space at the ends, line breaks, tabs, and several spaces in a row."""

import re

from qkv.localization.checks.unit import Check, Found, Unit

SEVERAL = re.compile(r"(?<=\S)  +(?=\S)")


def line_breaks(text: str) -> tuple[bool, bool, int]:
    """Whether a text starts and ends with one, as programs compare, and how many it has."""
    return text.startswith("\n"), text.endswith("\n"), text.count("\n")


def different_ends(unit: Unit) -> Found:
    pairs = zip(line_breaks(unit.source)[:2], line_breaks(unit.target)[:2], ("starts", "ends"), strict=True)
    for before, after, where in pairs:
        if before != after:
            yield f"only the {'source' if before else 'translation'} {where} with a line break"


def different_count(unit: Unit) -> Found:
    """Those at the ends are the business of another check."""
    before, after = line_breaks(unit.source.strip("\n"))[2], line_breaks(unit.target.strip("\n"))[2]
    if before != after:
        yield f"{after} line breaks instead of {before}"


def spaces_at_start(text: str) -> str:
    body = text.lstrip("\n")
    return body[: len(body) - len(body.lstrip(" \t"))]


def spaces_at_end(text: str) -> str:
    body = text.rstrip("\n")
    return body[len(body.rstrip(" \t")) :]


def different_start(unit: Unit) -> Found:
    if unit.source.strip() and spaces_at_start(unit.source) != spaces_at_start(unit.target):
        yield f"starts with {named(spaces_at_start(unit.target))} instead of {named(spaces_at_start(unit.source))}"


def different_end(unit: Unit) -> Found:
    if unit.source.strip() and spaces_at_end(unit.source) != spaces_at_end(unit.target):
        yield f"ends with {named(spaces_at_end(unit.target))} instead of {named(spaces_at_end(unit.source))}"


def named(spaces: str) -> str:
    return "no space" if not spaces else "a space" if spaces == " " else ascii(spaces)


def with_start(unit: Unit) -> str:
    body = unit.target.lstrip("\n")
    breaks = unit.target[: len(unit.target) - len(body)]
    return breaks + spaces_at_start(unit.source) + body[len(spaces_at_start(unit.target)) :]


def with_end(unit: Unit) -> str:
    body = unit.target.rstrip("\n")
    breaks = unit.target[len(body) :]
    return body[: len(body) - len(spaces_at_end(unit.target))] + spaces_at_end(unit.source) + breaks


def several_spaces(unit: Unit) -> Found:
    if SEVERAL.search(unit.target) and not SEVERAL.search(unit.source):
        yield "has several spaces in a row"


def different_tabs(unit: Unit) -> Found:
    before, after = unit.source.count("\t"), unit.target.count("\t")
    if before != after:
        yield f"{after} tabs instead of {before}"


LINE_ENDS = Check(
    name="line-ends",
    severity="error",
    summary="Only one side starts or ends with a line break.",
    find=different_ends,
)
LINE_BREAKS = Check(
    name="line-breaks", severity="warning", summary="Another number of line breaks.", find=different_count
)
START_SPACE = Check(
    name="start-space",
    severity="warning",
    summary="Other white space at the start.",
    find=different_start,
    fix=with_start,
)
END_SPACE = Check(
    name="end-space",
    severity="warning",
    summary="Other white space at the end.",
    find=different_end,
    fix=with_end,
)
DOUBLE_SPACE = Check(
    name="double-space",
    severity="info",
    summary="Several spaces in a row, unlike in the source.",
    find=several_spaces,
    fix=lambda unit: SEVERAL.sub(" ", unit.target),
)
TABS = Check(name="tabs", severity="warning", summary="Another number of tabs.", find=different_tabs)
