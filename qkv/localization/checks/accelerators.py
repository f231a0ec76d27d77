"""Accelerators: the & or _ before the letter that selects an entry of a menu."""

import re

from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.markup import ENTITY

# One mark, directly before a letter and not inside a word: &File, Save _As, S&ave.
AMPERSAND = re.compile(r"(?<!&)&(?=\w)")
UNDERSCORE = re.compile(r"(?<!\w)_(?=[^\W_])|(?<=[a-z])_(?=[a-z]+$)")
LONGEST = 60  # characters: longer texts are sentences, not entries of a menu


def marks_in(text: str) -> tuple[int, int]:
    plain = ENTITY.sub("", text)
    return len(AMPERSAND.findall(plain)), len(UNDERSCORE.findall(plain))


def different_accelerators(unit: Unit) -> Found:
    """Only texts with one mark are surely entries of a menu."""
    if len(unit.source) > LONGEST or ("&" not in unit.source and "_" not in unit.source):
        return
    for mark, before, after in zip("&_", marks_in(unit.source), marks_in(unit.target), strict=True):
        if before == 1 and after != 1:
            yield f"{after} × {mark} before a letter instead of 1"


ACCELERATORS = Check(
    name="accelerators",
    severity="warning",
    summary="The mark of an accelerator is missing or repeated (&File, _Open).",
    find=different_accelerators,
)
