"""Plural forms of languages: those of gettext, the categories of CLDR, and numbers that belong to each form.

A form with such a number in the place of its placeholder is a sentence that a model can translate: "5 files" for the Russian form
"many". Spanish and French show why both tables are needed: they have the category "many" in CLDR, for whole millions, and two forms
in gettext.
"""

import re
from collections.abc import Mapping
from functools import cache

from qkv.documents.plural_expression import parse_expression
from qkv.documents.plural_table import CLDR, GETTEXT, ORDINALS

MOST_FORMS = 10
STATED = re.compile(r"nplurals\s*=\s*(\d{1,9})\s*;\s*plural\s*=\s*([^;]{1,1000})")
TRIED = (*range(200), 1_000_000)
SMALL, LARGE, FROM = (
    3,
    3,
    20,
)  # numbers of a form: the smallest ones, and some from 20 on, which are hardly ever spelled out

Numbers = tuple[str, ...]


@cache
def by_language(table: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return {name: value for names, value in table for name in names.split()}


def found_for(language: str, table: tuple[tuple[str, str], ...]) -> str | None:
    name, known = language.replace("-", "_"), by_language(table)
    return known.get(name) or known.get(name.split("_")[0].lower())


def plural_forms(language: str) -> str | None:
    """The header's Plural-Forms for a language; None if it is not known."""
    return found_for(language, GETTEXT)


def categories(language: str, *, ordinal: bool = False) -> dict[str, Numbers]:
    """The CLDR categories of a language in their order, and numbers that belong to them. Empty if it is not known.

    A category has fractions only if no whole number belongs to it.
    """
    stated = found_for(language, ORDINALS if ordinal else CLDR)
    pairs = (each.partition("=") for each in (stated or "").split())
    return {name: tuple(numbers.split(",")) for name, _, numbers in pairs}


def usual_categories(language: str, *, ordinal: bool = False) -> dict[str, Numbers]:
    """The same without categories for whole millions alone. Formats that fall back to "other" do not need them."""
    return {name: numbers for name, numbers in categories(language).items() if float(numbers[0]) < 1_000_000}


@cache
def gettext_numbers(stated: str) -> tuple[Numbers, ...]:
    """Numbers of each form by the header's Plural-Forms. Empty if that cannot be read."""
    found = STATED.search(stated)
    expression = parse_expression(found[2]) if found else None
    if found is None or expression is None or int(found[1]) > MOST_FORMS:
        return ()
    numbers: list[list[str]] = [[] for _ in range(int(found[1]))]
    for number in TRIED:
        try:
            form = expression(number)
        except ZeroDivisionError:
            return ()
        if not 0 <= form < len(numbers):
            return ()
        if len(numbers[form]) < (SMALL if number < FROM else SMALL + LARGE):
            numbers[form].append(str(number))
    return tuple(map(tuple, numbers))
