"""Attributes of HTML that readers of a page see or hear, and the one that states its language."""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import NamedTuple

from qkv.documents.markup import HTML, SAYS_NO, SPACE_WITH_BREAK, inside, kept_ranges, with_kind
from qkv.text.markup import Markup, pairs, scan

TRANSLATED = frozenset({"title", "alt", "placeholder", "aria-label"})
LANGUAGE = frozenset({"lang", "xml:lang"})
ATTRIBUTE = re.compile(
    r"\s(?P<name>[^\s<>/\"'=]++)\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s\"'<>=`]++))"
)


class Attribute(NamedTuple):
    """An attribute, and the range of its value without quotes."""

    name: str
    raw: str
    quote: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return SPACE_WITH_BREAK.sub(" ", unescape(self.raw)).strip()

    def with_quotes(self) -> "Attribute":
        """The same with the range of its value and the quotes around it."""
        return self._replace(start=self.start - len(self.quote), end=self.end + len(self.quote))

    def escaped(self, text: str) -> str:
        """The text as a value. A value without quotes gets them."""
        quote = self.quote or '"'
        written = text.replace("&", "&amp;").replace("<", "&lt;")
        written = written.replace(quote, "&quot;" if quote == '"' else "&#39;")
        return written if self.quote else f'"{written}"'


def translated_attributes(text: str) -> list[Attribute]:
    """Those with letters, from left to right, without those of elements that are not translated."""
    items = [with_kind(item, HTML) for item in scan(text)]
    kept = kept_ranges(text, items, pairs(items), HTML)
    outer = {start for start, _ in kept}
    return [
        attribute
        for item in items
        if item.kind in ("open", "empty")
        and (not inside(item.start, kept) or (item.name == "textarea" and item.start in outer))
        and not SAYS_NO.search(text, item.start, item.end)
        for attribute in visible(text, item)
        if any(map(str.isalpha, attribute.text))
    ]


def visible(text: str, item: Markup) -> Iterator[Attribute]:
    found = list(attributes_of(text, item))
    names = TRANSLATED
    if item.name == "meta" and any(
        (each.name, each.raw.lower()) == ("name", "description") for each in found
    ):
        names = frozenset({"content"})
    return (each for each in found if each.name in names)


def attributes_of(text: str, item: Markup) -> Iterator[Attribute]:
    for match in ATTRIBUTE.finditer(text, item.start, item.end):
        kind = match.lastgroup or ""
        quote = {"double": '"', "single": "'"}.get(kind, "")
        yield Attribute(match["name"].lower(), match[kind], quote, match.start(kind), match.end(kind))


def stated_languages(text: str) -> Sequence[Attribute]:
    """The language of the page, which its first element states."""
    page = next((item for item in scan(text) if (item.kind, item.name) == ("open", "html")), None)
    return [each for each in attributes_of(text, page) if each.name in LANGUAGE] if page else []
