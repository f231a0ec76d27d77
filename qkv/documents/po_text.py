"""Strings of gettext catalogs: their escapes, and how a new one is written."""

import re

ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    '"': '"',
    "\\": "\\",
}
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
WRITTEN = {character: f"\\{letter}" for letter, character in ESCAPES.items()}
SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\]')
WIDTH = 77  # characters between the quotes, as gettext wraps them


def unescape(raw: str) -> str | None:
    """The text of a string without its quotes; None if an escape is unknown."""
    if "\\" not in raw:
        return raw
    known = True

    def character(match: re.Match[str]) -> str:
        nonlocal known
        octal, hexadecimal, letter = match.groups()
        if letter is None:
            return chr(int(octal, 8) if octal else int(hexadecimal, 16))
        known = known and letter in ESCAPES
        return ESCAPES.get(letter, "")

    text = ESCAPE.sub(character, raw)
    return text if known else None


def escape(text: str) -> str:
    return SPECIAL.sub(lambda match: WRITTEN.get(match[0]) or f"\\{ord(match[0]):03o}", text)


def quoted(text: str, line_break: str, *, wrapped: bool) -> str:
    """A string as gettext writes it: one line, or an empty string and one line for each part."""
    parts = parts_of(text, wrapped)
    if len(parts) <= 1:
        return f'"{escape(text)}"'
    return line_break.join(['""', *(f'"{escape(part)}"' for part in parts)])


def parts_of(text: str, wrapped: bool) -> list[str]:
    """The lines of a text. Long ones are cut after spaces, if the catalog does so."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if not wrapped or (len(lines) == 1 and len(escape(text)) <= WIDTH):
        return lines
    return [part for line in lines for part in cut_after_spaces(line)]


def cut_after_spaces(line: str) -> list[str]:
    parts, width = [""], 0
    for word in re.findall(r"[^ ]+ *| +", line):
        size = len(escape(word))
        if parts[-1] and width + size > WIDTH:
            parts.append("")
            width = 0
        parts[-1] += word
        width += size
    return parts
