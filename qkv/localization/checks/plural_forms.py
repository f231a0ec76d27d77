"""The plural forms of a gettext catalog: how many there must be, and which are for a few numbers only."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qkv.documents.plural_expression import Expression, parse_expression
from qkv.documents.po import count_forms, decode_po, header_fields
from qkv.documents.po_scanner import PoEntry, entries_of, is_fuzzy

EXPRESSION = re.compile(r"plural\s*=\s*([^;]+)")
TRIED = 1_000  # numbers that a formula is tried with
RARE = 5  # a form of so many of them or fewer may leave the number out, as in gettext's own tools


@dataclass(frozen=True, kw_only=True)
class PluralForms:
    """What a catalog says about its plural forms."""

    problems: dict[tuple[str, str], str]
    """What is wrong with a message, by its context and its source text."""
    rare: frozenset[str]
    """Forms that are for a few numbers only."""


def plural_forms_in(content: bytes) -> PluralForms:
    entries = [entry for entry in entries_of(decode_po(content).text) if not is_fuzzy(entry)]
    fields = header_fields(next((entry for entry in entries if entry.is_header), None))
    stated = fields.get("plural-forms", "")
    count, used = count_forms(stated), used_forms(stated)
    messages = [entry for entry in entries if "msgid_plural" in entry.strings]
    problems = {
        (entry.text("msgctxt"), entry.text("msgid")): problem
        for entry in messages
        if (problem := problem_of(entry, count))
    }
    if messages and (problem := header_problem(count, used)):
        problems[messages[0].text("msgctxt"), messages[0].text("msgid")] = problem
    forms = range(count or 0)
    rare = frozenset(str(form) for form in forms if used and used.count(form) <= RARE)
    return PluralForms(problems=problems, rare=rare)


def used_forms(stated: str) -> list[int]:
    """The form of each number from 0; none if the header has no valid formula."""
    found = EXPRESSION.search(stated)
    rule = parse_expression(found[1].strip()) if found else None
    try:
        return list(forms_by(rule)) if rule else []
    except ZeroDivisionError:
        return []


def forms_by(rule: Expression) -> Iterator[int]:
    return (rule(number) for number in range(TRIED + 1))


def header_problem(count: int | None, used: Sequence[int]) -> str | None:
    if count is None or not used:
        return "the header has no valid Plural-Forms"
    if max(used) >= count:
        return f"the header states {count} plural forms, but its formula gives form {max(used)}"
    return None


def problem_of(entry: PoEntry, count: int | None) -> str | None:
    texts = [string.text for name, string in entry.strings.items() if name.startswith("msgstr[")]
    if not any(texts):
        return None  # untranslated
    if not all(texts):
        return "some plural forms are empty"
    if count is not None and len(texts) != count:
        return f"{len(texts)} plural forms instead of {count}"
    return None
