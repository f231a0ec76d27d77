"""Brackets, quotation marks and escapes."""

import re
from collections import Counter

from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.protect import BY_DEFAULT, Kind, protected_spans, remove_spans

BRACKETS = "()[]{}"
FULL_WIDTH = str.maketrans("（）［］｛｝【】", "()[]{}[]")
ESCAPE = re.compile(r"\\(?:[abefnrtv0\"'\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
SMILEY = re.compile(r"[:;]-?[()]|\b[a-z0-9]\)")
DOUBLE = frozenset('"“”„‟«»「」『』〝〞＂')


def without_spans(text: str, dialect: Kind | None) -> str:
    kinds: tuple[Kind, ...] = BY_DEFAULT if dialect is None else (*BY_DEFAULT, dialect)
    return remove_spans(text, protected_spans(text, kinds))


def brackets_of(text: str, dialect: Kind | None) -> Counter[str]:
    rest = SMILEY.sub("", without_spans(text, dialect).translate(FULL_WIDTH))
    return Counter(each for each in rest if each in BRACKETS)


def unbalanced(unit: Unit) -> Found:
    """A translation may add or drop a remark in brackets, but it closes what it opens if the source does."""
    before, after = brackets_of(unit.source, unit.dialect), brackets_of(unit.target, unit.dialect)
    for opening, closing in ("()", "[]", "{}"):
        is_even = before[opening] == before[closing]
        if is_even and after[opening] != after[closing]:
            yield f"{after[opening]} × {opening} but {after[closing]} × {closing}"


def odd_quotes(unit: Unit) -> Found:
    counts = [
        sum(each in DOUBLE for each in without_spans(text, unit.dialect))
        for text in (unit.source, unit.target)
    ]
    if counts[0] % 2 == 0 and counts[1] % 2:
        yield "a quotation mark is not closed"


def different_escapes(unit: Unit) -> Found:
    before, after = (Counter(ESCAPE.findall(text)) for text in (unit.source, unit.target))
    if before != after:
        wrong = " ".join(sorted((before - after) + (after - before)))
        yield f"escapes differ: {wrong}"


BRACKETS_CHECK = Check(
    name="brackets", severity="warning", summary="Brackets are not balanced.", find=unbalanced
)
QUOTES = Check(name="quotes", severity="info", summary="A quotation mark is not closed.", find=odd_quotes)
ESCAPES = Check(
    name="escapes", severity="warning", summary="Escapes differ, such as \\n.", find=different_escapes
)
