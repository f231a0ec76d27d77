"""Spans of a text that are not translated: placeholders, markup, addresses, numbers."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Literal, get_args

from qkv.text.entities import character_of
from qkv.text.markup import ENTITY, Markup, MarkupScanner, pairs
from qkv.text.patterns import matches
from qkv.text.segment import split_to_fit

Dialect = Literal[
    "c-format", "python-format", "python-brace-format", "qt-format", "ruby-format", "i18next-format", "icu-format"
]  # fmt: skip
Kind = Literal["tags", "urls", "emails", "placeholders", "numbers"] | Dialect
Protection = Kind | re.Pattern[str]
"""What is protected: a kind of spans, or what a pattern of the caller matches."""
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
"""How one kind of program writes placeholders. "placeholders" are those that can hardly be anything else."""
KINDS: tuple[Kind, ...] = ("tags", "urls", "emails", "placeholders", "numbers", *DIALECTS)

# Linear time on any text: an unbounded repeat cannot restart inside its own match, and no two adjacent unbounded
# repeats accept the same character. Tags are found by the scanner in qkv.text.markup.
PRINTF = r"[#0+-]{0,5}(?:\d{0,9}|\*)(?:\.(?:\d{1,9}|\*))?"
PRINTF_TYPE = r"(?:hh|h|ll|l|L|z|j|t)?[sdiufFeEgGxXoc@]"

PRINTF_ANY = (  # flags, width, precision and length of a type that is known to follow
    r"[#0+'-]{0,5}(?:\d{1,9}|\*(?:\d{1,9}\$)?)?(?:\.(?:\d{1,9}|\*(?:\d{1,9}\$)?)?)?(?:hh|h|ll|l|L|q|z|j|t)?"
)
# A space is also a flag, but "100% sure" has no placeholder.
C_FORMAT = (
    rf"%%|%(?:\d{{1,9}}\$)?{PRINTF_ANY}[diouxXeEfFgGaAcCsSpnm@]|% [diouxXeEfFgGs](?!\w)|%<PRI\w{{1,20}}>"
)

# An address ends before white space, quotes, angle brackets and their entities. Punctuation belongs to it only if more of
# the address follows. Closed brackets and entities belong to it as a whole, so no placeholder is cut. An opening bracket
# is read at most three times: as a bracket, inside the one before it, and as a character.
ENDS_ADDRESS = r"[\s<>\"']|&(?:lt|gt|quot|apos|nbsp|#(?:34|39|60|62|160));"
BRACES = r"\{\{[^{}]*+\}\}|\{[^{}\s]*+\}"
INSIDE_ADDRESS = (
    rf"{BRACES}|\[\[[^\[\]]*+\]\]|\[[^\s<>\"'\[\]]*+\]"
    rf"|\((?:{BRACES}|\([^\s<>\"'()]*+\)|[^\s<>\"'()])*+\)"
    rf"|{ENTITY.pattern}"
    r"|[^\s<>\"'.,;:!?)\]}]"
)
PUNCTUATION = r"[.,;:!?)\]}]"

TEXT_PATTERNS: dict[Kind, str] = {
    "urls": rf"(?:(?:https?|ftp)://|www\.)(?:{PUNCTUATION}*+(?!{ENDS_ADDRESS})(?:{INSIDE_ADDRESS}))++",
    "emails": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    "placeholders": (
        rf"\{{\{{[^{{}}]*\}}\}}|\$?\{{[^{{}}\s]*\}}|%\([A-Za-z_]\w*\){PRINTF}[a-zA-Z]"
        rf"|%(?:\d{{1,9}}\$)?{PRINTF}{PRINTF_TYPE}(?!\w)|%%|\[\[[^\[\]]*\]\]"
    ),
    "numbers": r"(?<![\w.,])\d+(?:[.,:/-]\d+)*(?![\w])",
    "c-format": C_FORMAT,
    "python-format": rf"%%|%(?:\([^()%]{{1,100}}\))?{PRINTF_ANY}[diouxXeEfFgGcrsa]|% [diouxXeEfFgGrs](?!\w)",
    "python-brace-format": r"\{\{[^{}]*+\}\}|\{\{|\}\}|\{(?:[^{}]++|\{[^{}]*+\})*+\}",
    "qt-format": r"%%|%L?(?:\d{1,2}|n)",
    "ruby-format": rf"[%#]\{{[^{{}}]*+\}}|%<\w{{1,100}}>{PRINTF_ANY}[a-zA-Z]|{C_FORMAT}",
    "i18next-format": (
        r"\{\{[^{}]*+\}\}|\$t\([^()]*+\)|</?\d{1,9}\s?/?>|[$%]?\{[^{}\s]*+\}|%(?:\d{1,9}\$)?[sd@](?!\w)"
    ),
    "icu-format": r"\{[^{}]*+\}",
}
SIGNS: dict[Kind, str] = {  # every span has its kind's sign; most text has none, and is searched no further
    "tags": "[<&]",
    "urls": r"://|www\.",
    "emails": "@",
    "placeholders": r"[{%]|\[\[",
    "numbers": r"\d",
    "c-format": "%",
    "python-format": "%",
    "python-brace-format": "[{}]",
    "qt-format": "%",
    "ruby-format": "[%#]",
    "i18next-format": "[{%$<]",
    "icu-format": "{",
}
KIND_OF_GROUP = {kind.replace("-", "_"): kind for kind in KINDS}
AFTER_ADDRESS = rf"(?={PUNCTUATION}*+(?:$|{ENDS_ADDRESS}))"  # punctuation after an address is not part of it
TAKES_NEXT_ARGUMENT = (  # placeholders with neither a number nor a name
    re.compile(rf"%{PRINTF}{PRINTF_TYPE}"),
    re.compile(r"\{(?:[:!][^{}]*)?\}"),
)
BY_DEFAULT: tuple[Kind, ...] = ("placeholders", "tags", "urls", "emails")


@dataclass(frozen=True)
class ProtectedSpan:
    kind: Kind | Literal["pattern"]
    text: str
    start: int  # characters
    end: int
    markup: Markup | None = None  # of a tag


def protected_spans(text: str, kinds: Collection[Protection]) -> list[ProtectedSpan]:
    """All spans of these kinds and patterns, from left to right, without overlaps."""
    wanted = frozenset(kind for kind in kinds if isinstance(kind, str))
    found = list(spans_in_order(text, wanted)) if sign_of(wanted).search(text) else []
    patterns = [kind for kind in kinds if not isinstance(kind, str)]
    return with_patterns(text, found, patterns) if patterns else found


def with_patterns(
    text: str, found: Sequence[ProtectedSpan], patterns: Sequence[re.Pattern[str]]
) -> list[ProtectedSpan]:
    """Add what the patterns match. If spans overlap, the pattern wins, except inside a longer span."""
    kept: list[ProtectedSpan] = []
    rest = [*found]
    rest.reverse()
    for start, end in matches(text, patterns):
        while rest and rest[-1].end <= start:
            kept.append(rest.pop())
        if rest and rest[-1].start <= start and end <= rest[-1].end and rest[-1].text != text[start:end]:
            continue
        while rest and rest[-1].start < end:
            rest.pop()
        kept.append(ProtectedSpan("pattern", text[start:end], start, end))
    return [*kept, *reversed(rest)]


def spans_in_order(text: str, kinds: Collection[Kind]) -> Iterator[ProtectedSpan]:
    pattern, scanner = pattern_for(frozenset(kinds) - {"tags"}), MarkupScanner(text)
    match = pattern and pattern.search(text)
    tag = scanner.after(0) if "tags" in kinds else None
    while match or tag:
        if tag and not (match and match.start() < tag.start):
            yield ProtectedSpan("tags", text[tag.start : tag.end], tag.start, tag.end, tag)
            last = tag.end
        elif match:
            yield ProtectedSpan(KIND_OF_GROUP[match.lastgroup or ""], match.group(), *match.span())
            last = match.end()
        if pattern and match and match.start() < last:
            match = pattern.search(text, last)
        if tag and tag.start < last:
            tag = scanner.after(last)


@cache
def sign_of(kinds: frozenset[Kind]) -> re.Pattern[str]:
    """Matches in every text that has a span of these kinds."""
    return re.compile("|".join(SIGNS[kind] for kind in KINDS if kind in kinds) or r"(?!)")


@cache
def pattern_for(kinds: frozenset[Kind]) -> re.Pattern[str] | None:
    wanted = [kind for kind in TEXT_PATTERNS if kind in kinds]
    groups = (f"(?P<{kind.replace('-', '_')}>{TEXT_PATTERNS[kind]})" for kind in wanted)
    return re.compile("|".join(groups)) if wanted else None


def character_in(span: ProtectedSpan) -> str | None:
    """The character of a span, if it is an entity of a visible character."""
    return character_of(span.text) if span.kind == "tags" and span.text.startswith("&") else None


def remove_spans(text: str, spans: Sequence[ProtectedSpan]) -> str:
    """The text without these spans, and with characters in place of entities."""
    return replace_spans(text, spans, [character_in(span) or "" for span in spans])


def replace_spans(text: str, spans: Sequence[ProtectedSpan], by: Sequence[str]) -> str:
    parts, last = [], 0
    for span, new in zip(spans, by, strict=True):
        parts += [text[last : span.start], new]
        last = span.end
    return "".join([*parts, text[last:]])


def split_lines(text: str, kinds: Collection[Protection]) -> list[str]:
    """Split a text after line breaks and around block elements such as <li> and <br>.

    No protected span is split. A pair of tags is either inside one segment, or each of its tags is a segment of its own.
    """
    spans = protected_spans(text, kinds)
    if not spans and "\n" not in text:
        return [text] if text else []
    return cut_at(text, spans, [*line_ends(text, spans), *block_edges(text, spans)])


def line_ends(text: str, spans: Sequence[ProtectedSpan]) -> Iterator[int]:
    """The positions after line breaks outside spans."""
    last = 0
    for start, end in [*((span.start, span.end) for span in spans), (len(text), len(text))]:
        yield from (last + match.end() for match in re.finditer("\n", text[last:start]))
        last = end


def block_edges(text: str, spans: Sequence[ProtectedSpan]) -> Iterator[int]:
    """The positions where runs of block tags start and end. White space between the tags is part of the run."""
    start = end = -1
    for span in spans:
        if span.markup is None or not span.markup.is_boundary:
            continue
        if end < 0 or text[end : span.start].strip():
            yield from (start, end) if end >= 0 else ()
            start = span.start
        end = span.end
    yield from (start, end) if end >= 0 else ()


def cut_at(text: str, spans: Sequence[ProtectedSpan], cuts: Collection[int]) -> list[str]:
    """Split a text. If a cut separates a pair of tags, both tags become parts of their own and stay in place."""
    tags = [span.markup for span in spans if span.markup is not None]
    ordered = sorted(cuts)
    edges = {0, *cuts, len(text)}
    for first, last in pairs(tags):
        if tags[first].is_boundary:
            continue  # already at the edge of a segment
        inside = bisect_left(ordered, tags[first].end)
        if inside < len(ordered) and ordered[inside] <= tags[last].start:
            edges.update((tags[first].start, tags[first].end, tags[last].start, tags[last].end))
    return [text[start:end] for start, end in pairwise(sorted(edges))]


def split_long_text(
    text: str, kinds: Collection[Protection], size: Callable[[str], int], limit: int
) -> list[str]:
    """Split a text into segments of at most `limit` by `size`.

    No span is split, and a span larger than half the limit is a segment of its own. Tags have no size, because the model
    does not read them.
    """
    spans = protected_spans(text, kinds)
    visible = VisibleText.of(text, spans)
    if size(visible.text) <= limit:
        return [text]
    cuts: list[int] = []
    last = 0
    for start, end in [each for each in visible.spans if size(visible.text[slice(*each)]) > limit // 2]:
        cuts += [*visible.cuts_between(last, start, size, limit), start, end]
        last = end
    cuts += visible.cuts_between(last, len(visible.text), size, limit)
    return cut_at(text, spans, [visible.place(cut) for cut in cuts])


@dataclass(frozen=True)
class VisibleText:
    """A text without its tags, and the original position of each character."""

    text: str
    origins: Sequence[int]  # of each character, and finally the length of the original text
    spans: Sequence[tuple[int, int]]  # protected spans that are not tags
    closing: Mapping[int, int]  # closing tags: start and end

    @classmethod
    def of(cls, text: str, spans: Sequence[ProtectedSpan]) -> "VisibleText":
        visible: list[str] = []
        origins: list[int] = []
        kept: list[tuple[int, int]] = []
        last = 0
        for span in spans:
            visible += text[last : span.start]
            origins += range(last, span.start)
            last = span.end
            if not is_hidden_from_model(span):
                kept.append((len(visible), len(visible) + len(span.text)))
                visible += span.text
                origins += range(span.start, span.end)
            elif visible and separates_words(visible[-1], text[last : last + 1]):
                visible.append(" ")
                origins.append(last)
        visible += text[last:]
        closing = {each.start: each.end for each in spans if each.markup and each.markup.kind == "close"}
        return cls("".join(visible), [*origins, *range(last, len(text) + 1)], kept, closing)

    def cuts_between(self, start: int, end: int, size: Callable[[str], int], limit: int) -> Iterator[int]:
        """Where this part must be split to fit."""
        first = bisect_left(self.spans, (start, start))
        whole = [
            (one - start, other - start)
            for one, other in self.spans[first : bisect_left(self.spans, (end, end))]
        ]
        segments = split_to_fit(self.text[start:end], size, limit, whole)
        return accumulate(map(len, segments[:-1]), initial=start)

    def place(self, cut: int) -> int:
        """The position in the original text, after the closing tags of the text before it."""
        if cut == 0:
            return 0
        place, following = self.origins[cut - 1] + 1, self.origins[cut]
        while place in self.closing and place < following:
            place = self.closing[place]
        return min(place, following)


def is_hidden_from_model(span: ProtectedSpan) -> bool:
    """Whether it is a tag or an entity of an invisible character, which the model does not read."""
    return span.kind == "tags" and character_in(span) is None


def separates_words(before: str, after: str) -> bool:
    """Whether a tag between these characters is all that separates two words."""
    return before.isalnum() and after.isalnum()


def occurrences(text: str, phrase: str) -> list[int]:
    """Where a phrase occurs in a text, except inside a longer word, number or address."""
    if "@" in phrase or "//" in phrase or phrase.startswith("www."):
        before, after = r"(?<![\w.+@/-])", AFTER_ADDRESS
    elif phrase[:1].isdigit() and phrase[-1:].isdigit():
        before, after = r"(?<!\w)(?<!\d[.,:/-])", r"(?!\w|[.,:/-]\d)"
    else:
        before = r"(?<!\w)" if phrase[:1].isalnum() else ""
        after = r"(?!\w)" if phrase[-1:].isalnum() else ""
    return [match.start() for match in re.finditer(before + re.escape(phrase) + after, text)]


def locate(text: str, phrases: Iterable[str]) -> dict[str, list[int]]:
    """Where each phrase occurs. An occurrence inside that of a longer phrase does not count."""
    taken: list[tuple[int, int]] = []
    found: dict[str, list[int]] = {}
    for phrase in sorted(set(phrases), key=lambda each: -len(each)):
        found[phrase] = [
            at
            for at in occurrences(text, phrase)
            if not any(start < at + len(phrase) and at < end for start, end in taken)
        ]
        taken += [(at, at + len(phrase)) for at in found[phrase]]
    return found


def merged_occurrences(text: str, phrase: str) -> list[int]:
    """Where a phrase occurs as part of a longer word, number or address."""
    whole = set(occurrences(text, phrase))
    return [match.start() for match in re.finditer(re.escape(phrase), text) if match.start() not in whole]


def all_kept(text: str, wanted: Sequence[str]) -> bool:
    """Whether each phrase occurs in the text exactly as often as in the list."""
    if not wanted:
        return True
    found = locate(text, wanted)
    return all(len(found[phrase]) == count for phrase, count in Counter(wanted).items())
