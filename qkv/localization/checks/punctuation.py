"""Punctuation at the end of a text."""

from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.protect import BY_DEFAULT, protected_spans

SAME = {  # marks that are written differently in other scripts
    "。": ".", "．": ".", "।": ".", "։": ".", "።": ".", "۔": ".", "！": "!", "？": "?", "؟": "?", "：": ":", "；": ";", "؛": ";", "，": ",",
    "、": ",", "،": ",", "…": "…", "⋯": "…",
}  # fmt: skip
MARKS = frozenset(".!?:;,…")
QUESTION_MARKS = {"el": ";", "hy": "՞"}  # a mark that looks like another, or stands inside the last word
CLOSING = " \t\n\u00a0\u202f\"'”“‟’‘»«›‹)]}>*_`"
SENTENCE = 12  # characters: shorter texts with a full stop are often abbreviations
LATIN_END = frozenset("abcdefghijklmnopqrstuvwxyz")


def end_mark(text: str, language: str | None) -> str:
    """The last mark of a text, in the way that English writes it. Closing quotes and brackets are passed over."""
    body = text.rstrip(CLOSING)
    if not body:
        return ""
    if body.endswith(("...", "。。。")):
        return "…"
    last = body[-1]
    if first_part(language) == "el" and last in ";;":
        return "?"
    last = SAME.get(last, last)
    return last if last in MARKS else ""


def first_part(language: str | None) -> str:
    return (language or "").replace("_", "-").split("-")[0].lower()


def without_mark(language: str | None) -> bool:
    """Thai and Lao sentences have no mark at the end, and Armenian ones have their question mark elsewhere."""
    return first_part(language) in ("th", "lo", "hy", "km", "my")


def different_mark(unit: Unit) -> Found:
    if without_mark(unit.languages[1]):
        return
    before, after = end_mark(unit.source, unit.languages[0]), end_mark(unit.target, unit.languages[1])
    is_abbreviation = {before, after} == {".", ""} and max(len(unit.source), len(unit.target)) < SENTENCE
    if before != after and not is_abbreviation:
        yield f"ends with {after or 'no mark'} instead of {before or 'no mark'}"


def with_mark(unit: Unit) -> str:
    """The mark of the source after a translation that has none. Both must end in a Latin letter, without quotes or spans."""
    target, source = unit.target, unit.source.rstrip()
    body = target.rstrip()
    mark = next((each for each in ("...", "…", ".", "!", "?", ":") if source.endswith(each)), "")
    before = source[: len(source) - len(mark)]
    spans = protected_spans(body, BY_DEFAULT)
    is_plain = before[-1:].lower() in LATIN_END and body[-1:].lower() in LATIN_END | set(
        "äöüßáéíóúñàèìòùâêîôûç"
    )
    if (
        not mark
        or not is_plain
        or (spans and spans[-1].end == len(body))
        or first_part(unit.languages[1]) == "el"
    ):
        return target
    if first_part(unit.languages[1]) == "fr" and mark in "!?:":
        mark = f"\u00a0{mark}"
    if first_part(unit.languages[1]) == "es" and mark in "!?":
        return target  # the mark at the start would be missing
    return body + mark + target[len(body) :]


def other_ellipsis(unit: Unit) -> Found:
    source, target = unit.source.rstrip(), unit.target.rstrip()
    if source.endswith("…") and target.endswith("..."):
        yield "ends with three full stops instead of …"
    elif source.endswith("...") and target.endswith("…"):
        yield "ends with … instead of three full stops"


def with_ellipsis(unit: Unit) -> str:
    body = unit.target.rstrip()
    old, new = ("...", "…") if body.endswith("...") else ("…", "...")
    return body.removesuffix(old) + new + unit.target[len(body) :]


END_PUNCTUATION = Check(
    name="end-punctuation",
    severity="warning",
    summary="Another punctuation mark at the end.",
    find=different_mark,
    fix=with_mark,
)
ELLIPSIS = Check(
    name="ellipsis",
    severity="info",
    summary="Three full stops instead of one ellipsis, or the reverse.",
    find=other_ellipsis,
    fix=with_ellipsis,
)
