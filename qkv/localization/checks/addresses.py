"""URLs, e-mail addresses, and names that only computers read: options, functions and paths."""

import re
from collections import Counter
from collections.abc import Callable

from qkv.localization.checks.placeholders import difference, spans_in
from qkv.localization.checks.unit import Check, Found, Unit

OPTION = re.compile(r"(?<![\w-])(?:--[a-zA-Z][\w-]*+|-[a-zA-Z])(?![\w-])")
FUNCTION = re.compile(r"\b[A-Za-z_]\w{0,99}(?:(?:\.|::|->)\w{1,99}){0,9}\(\)")
PATH = re.compile(r"(?<![\w/.:<~-])(?:~|\.{1,2})?/[\w.+-]++(?:/[\w.+-]++)+")


def lost(count: Callable[[str], Counter[str]], what: str) -> Callable[[Unit], Found]:
    """Finds what the source has and the translation lacks, or the reverse."""

    def find(unit: Unit) -> Found:
        before, after = count(unit.source), count(unit.target)
        if before != after and after != count(unit.reference):
            yield f"{what} differ: {difference(before, after)}"

    return find


def counts_of(pattern: re.Pattern[str]) -> Callable[[str], Counter[str]]:
    return lambda text: Counter(pattern.findall(text))


URLS = Check(
    name="urls",
    severity="warning",
    summary="URLs differ.",
    find=lost(lambda text: Counter(spans_in(text, ["urls"])), "URLs"),
)
EMAILS = Check(
    name="emails",
    severity="warning",
    summary="E-mail addresses differ.",
    find=lost(lambda text: Counter(spans_in(text, ["emails"])), "e-mail addresses"),
)
OPTIONS = Check(
    name="options",
    severity="warning",
    summary="Options of commands differ.",
    find=lost(counts_of(OPTION), "options"),
)
FUNCTIONS = Check(
    name="functions",
    severity="warning",
    summary="Names of functions differ, such as print().",
    find=lost(counts_of(FUNCTION), "functions"),
)
PATHS = Check(
    name="paths",
    severity="warning",
    summary="Paths of files differ, such as /etc/hosts.",
    find=lost(counts_of(PATH), "paths"),
)
