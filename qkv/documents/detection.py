"""What a file is by its first bytes, where its name does not say it."""

import re

HEAD = 4_096  # bytes that are looked at
SIGNS: dict[str, re.Pattern[bytes]] = {
    "xliff": re.compile(rb"<xliff[\s>]"),
    "ts": re.compile(rb"<!DOCTYPE TS>|<TS[\s>]"),
    "xml": re.compile(rb"<resources[\s>/]"),
    "resx": re.compile(rb"<resheader\s"),
    "vtt": re.compile(rb"\A(?:\xef\xbb\xbf)?WEBVTT\b"),
    "srt": re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\d{1,6}[ \t]*\r?\n\d\d:\d\d:\d\d,\d{3} --> "),
    "po": re.compile(rb"^msgid \"", re.MULTILINE),
    "html": re.compile(
        rb"\A(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!DOCTYPE html|html)[\s>]", re.IGNORECASE | re.DOTALL
    ),
    "arb": re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"@@'),
    "json": re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"(?:[^"\\]|\\.){0,500}"\s*:'),
}
SHARED = ("xml", "ts")
"""Extensions that other files have too: XML of any kind, TypeScript."""


def detect(head: bytes) -> str | None:
    """The format of a file by its first bytes; None if it may be plain text."""
    return next((name for name, sign in SIGNS.items() if sign.search(head[:HEAD])), None)


def has_format(name: str, head: bytes) -> bool:
    """Whether a file with this extension has its format. Only shared extensions are checked."""
    return name not in SHARED or SIGNS[name].search(head[:HEAD]) is not None
