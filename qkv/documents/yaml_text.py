"""How a string is written in YAML: plain, in quotes, or as a block."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from qkv.documents.unicode_escapes import UnicodeEscapes

# Characters that must be escaped: control characters, and line breaks other than \n.
SPECIAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
PLAIN = re.compile(r"[^\W_](?:[^\s:#]|(?<!\s)#|:(?=\S)|[ ](?=\S))*")
FLOW = re.compile(r"[,\[\]{}]|:(?=[,\[\]{}])")
SHORT = {
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\u2028": "\\L",
    "\u2029": "\\P",
}
HEADER = re.compile(r"[|>][^\r\n]*(\r\n|\r|\n)")
LEAST_WIDTH = 60  # of folded lines
WORD = re.compile(r"[^ ]+ *")


def is_plain(text: str, *, in_flow: bool, is_string: Callable[[str], bool]) -> bool:
    """Whether a text can stand without quotes. Says no if in doubt."""
    if PLAIN.fullmatch(text) is None or SPECIAL.search(text) or (in_flow and FLOW.search(text)):
        return False
    return is_string(text)


def quoted_single(text: str) -> str | None:
    """None if that cannot express the text."""
    if SPECIAL.search(text) or "\n" in text:
        return None
    return "'" + text.replace("'", "''") + "'"


def quoted_double(text: str, escapes: UnicodeEscapes) -> str:
    return '"' + "".join(escaped(each, escapes) for each in text) + '"'


def escaped(character: str, escapes: UnicodeEscapes) -> str:
    if character in SHORT:
        return SHORT[character]
    if SPECIAL.match(character) or escapes.are_needed_for(character):
        return f"\\u{ord(character):04x}" if character <= "\uffff" else f"\\U{ord(character):08x}"
    return character


@dataclass(frozen=True)
class Block:
    """A literal (|) or folded (>) scalar: its header, its indentation and its widest line."""

    style: str
    header: str
    line_break: str
    indent: str
    width: int

    @classmethod
    def of(cls, raw: str, style: str, text: str) -> "Block":
        """From the scalar as the file has it, and its text without line breaks around it."""
        header = HEADER.match(raw)
        if header is None:  # an empty one
            return cls(style, raw, "\n", "", 0)
        body = raw[header.end() :]
        blank = len(body) - len(body.lstrip("\r\n \t"))
        first = body[:blank].rfind("\n") + 1 if "\n" in body[:blank] else 0
        spaces = len(body[first:]) - len(body[first:].lstrip(" "))
        own = len(text) - len(text.lstrip(" "))
        lines = body.splitlines()
        return cls(
            style=style,
            header=raw[: header.end()] + body[:first],
            line_break=header[1],
            indent=" " * max(0, spaces - own),
            width=max(LEAST_WIDTH, *map(len, lines)) if lines else LEAST_WIDTH,
        )

    def can_write(self, text: str) -> bool:
        """A line that begins with a space would change the indentation or, if folded, the folding."""
        if not self.indent or not text or SPECIAL.search(text) or text != text.strip("\n"):
            return False
        if text[0] in " \t" or text.endswith((" ", "\t")) or any(line.isspace() for line in text.split("\n")):
            return False
        return self.style == "|" or not any(line[:1] in (" ", "\t") for line in text.split("\n"))

    def write(self, text: str) -> str:
        lines = text.split("\n")
        if self.style == "|":
            return self.header + self.line_break.join(
                f"{self.indent}{line}" if line else "" for line in lines
            )
        made: list[str] = []
        for line in lines:
            made += [*self.folded(line), ""] if line else [""]
        return self.header + self.line_break.join(
            f"{self.indent}{line}" if line else "" for line in made[:-1]
        )

    def folded(self, line: str) -> list[str]:
        """Lines as wide as those of the source, cut at single spaces."""
        parts = [""]
        for word in WORD.findall(line) if not line.startswith(" ") else [line]:
            is_single = parts[-1].endswith(" ") and not parts[-1].endswith("  ")
            if is_single and len(self.indent) + len(parts[-1]) + len(word.rstrip()) > self.width:
                parts[-1] = parts[-1][:-1]
                parts.append("")
            parts[-1] += word
        return parts
