"""Finds the markup in a text: tags, comments, CDATA, declarations, instructions, scripts and entities.

This is a scanner for HTML and XML, not a parser. It never fails: unclosed markup is plain text. It runs in linear time on
any text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["open", "close", "empty", "comment", "cdata", "declaration", "instruction", "raw", "entity"]

# An attempt to read a tag stops at a `<` outside quotes, and a quote swaps two of its three states (outside, in "…", in
# '…'). Attempts that start at different places are therefore never in the same state at the same place, so at most three
# of them read any character. Possessive repeats (`*+`) keep each attempt linear.
QUOTED = r"\"[^\"]*+\"|'[^']*+'"
TAG = re.compile(rf"</?([A-Za-z][^\s<>/\"'=]*+)(?:[^<>\"']++|{QUOTED})*+>")
UNQUOTED_TAG = re.compile(r"</?([A-Za-z][^\s<>/\"'=]*+)[^<>]*+>")  # for a quote that is not closed
DECLARATION = re.compile(rf"<!([A-Za-z]++)(?:[^<>\"'\[\]]++|{QUOTED})*+([>\[])")
CONDITION = re.compile(r"<!\[[^<>\[\]]*+\]>")  # <![endif]>
INSTRUCTION = re.compile(r"<\?([A-Za-z][\w:.-]*+)")
UNCLOSED_INSTRUCTION = re.compile(r"[^<>]*+>")
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{0,63}|#[0-9]{1,10}|#[xX][0-9A-Fa-f]{1,8});")
CANDIDATE = re.compile(r"[<&]")

COMMENT_END, CDATA_END, INSTRUCTION_END = (re.compile(re.escape(end)) for end in ("-->", "]]>", "?>"))
SUBSET_END = re.compile(r"\]\s*+>")
RAW_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])[^<>]*+>", re.IGNORECASE | re.ASCII) for name in ("script", "style")
}

BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "col", "colgroup",
    "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "iframe",
    "legend", "li", "link", "main", "menu", "meta", "nav", "noscript", "ol", "optgroup", "option", "p", "pre",
    "script", "search", "section", "select", "style", "summary", "table", "tbody", "td", "template", "textarea",
    "tfoot", "th", "thead", "title", "tr", "ul",
})  # fmt: skip


class Markup(NamedTuple):
    """One item of markup. Elements, declarations and instructions have a `name`, in lower case."""

    kind: Kind
    start: int
    end: int
    name: str = ""

    @property
    def is_boundary(self) -> bool:
        """Whether a sentence cannot continue across it."""
        if self.kind == "instruction":
            return self.name == "xml"
        return self.kind in ("declaration", "raw") or self.name in BLOCKS


@dataclass
class MarkupScanner:
    """Finds markup from left to right. Positions must not decrease from call to call."""

    text: str
    ends: dict[re.Pattern[str], tuple[int, int]] = field(default_factory=dict, init=False)

    def after(self, place: int) -> Markup | None:
        """The next markup at or after this position."""
        for candidate in CANDIDATE.finditer(self.text, place):
            found = self.at(candidate.start())
            if found is not None:
                return found
        return None

    def at(self, start: int) -> Markup | None:
        """The markup that starts exactly here."""
        if self.text.startswith("&", start):
            entity = ENTITY.match(self.text, start)
            return Markup("entity", start, entity.end()) if entity else None
        if self.text.startswith("<!--", start):
            return self.markup_until("comment", start, start + 2, COMMENT_END)  # <!--> is also a comment
        if self.text.startswith("<![CDATA[", start):
            return self.markup_until("cdata", start, start, CDATA_END)
        if self.text.startswith("<!", start):
            return self.declaration(start)
        if self.text.startswith("<?", start):
            return self.instruction(start)
        return self.tag(start)

    def markup_until(
        self, kind: Kind, start: int, position: int, end: re.Pattern[str], name: str = ""
    ) -> Markup | None:
        """The markup from `start` to the first match of `end` after `position`, or None if there is no match."""
        found = self.next_end(end, position)
        return None if found < 0 else Markup(kind, start, found, name)

    def next_end(self, end: re.Pattern[str], place: int) -> int:
        """The end of the next match, or -1. Each part of the text is searched only once."""
        begin, stop = self.ends.get(end, (-1, 0))
        if stop >= 0 and begin < place:
            match = end.search(self.text, place)
            begin, stop = (match.start(), match.end()) if match else (-1, -1)
            self.ends[end] = begin, stop
        return stop

    def declaration(self, start: int) -> Markup | None:
        match = DECLARATION.match(self.text, start)
        if match is None:
            condition = CONDITION.match(self.text, start)
            return Markup("declaration", start, condition.end()) if condition else None
        name = match[1].lower()
        if match[2] == "[":
            return self.markup_until("declaration", start, match.end(), SUBSET_END, name)
        return Markup("declaration", start, match.end(), name)

    def instruction(self, start: int) -> Markup | None:
        match = INSTRUCTION.match(self.text, start)
        if match is None:
            return None
        name = match[1].lower()
        found = self.markup_until("instruction", start, match.end(), INSTRUCTION_END, name)
        if found is None:
            unclosed = UNCLOSED_INSTRUCTION.match(self.text, match.end())
            return Markup("instruction", start, unclosed.end(), name) if unclosed else None
        return found

    def tag(self, start: int) -> Markup | None:
        match = TAG.match(self.text, start) or UNQUOTED_TAG.match(self.text, start)
        if match is None:
            return None
        name = match[1].lower()
        if self.text.startswith("/", start + 1):
            return Markup("close", start, match.end(), name)
        if self.text.startswith("/", match.end() - 2):
            return Markup("empty", start, match.end(), name)
        if name in RAW_ENDS:
            raw = self.markup_until("raw", start, match.end(), RAW_ENDS[name], name)
            if raw is not None:
                return raw
        return Markup("open", start, match.end(), name)


def scan(text: str) -> Iterator[Markup]:
    """All markup of a text, from left to right."""
    scanner, place = MarkupScanner(text), 0
    while (found := scanner.after(place)) is not None:
        yield found
        place = found.end


def pairs(tags: Sequence[Markup]) -> list[tuple[int, int]]:
    """The indices of matching opening and closing tags, inner pairs first.

    Pairs are nested or disjoint. A closing tag matches the last open tag of its name; tags in between stay unmatched.
    """
    found: list[tuple[int, int]] = []
    open_tags: list[int] = []
    open_counts: dict[str, int] = {}  # by name
    for index, tag in enumerate(tags):
        if tag.kind == "open":
            open_tags.append(index)
            open_counts[tag.name] = open_counts.get(tag.name, 0) + 1
        elif tag.kind == "close" and open_counts.get(tag.name):
            while tags[last := open_tags.pop()].name != tag.name:
                open_counts[tags[last].name] -= 1
            open_counts[tag.name] -= 1
            found.append((last, index))
    return found
