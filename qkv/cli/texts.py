"""The input texts of commands: arguments, or lines of standard input."""

import os
import select
import sys
from collections.abc import Iterator

from qkv.data.lines import decode_line
from qkv.errors import QkvError

LINES_AT_ONCE = 2_000  # limits the memory that a long file takes


def check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise QkvError(
            "the text is not UTF-8: convert it, or set your terminal's encoding to UTF-8."
        ) from None


def standard_input() -> Iterator[list[str]]:
    """Lines as they arrive: many at a time from a file, one by one from a user or a slow pipe."""
    show_how_to_end()
    rest, number, ended = b"", 0, False
    while not ended:
        block = os.read(0, 1 << 16)
        ended = not block
        rest += block
        if not ended and has_more_input() and rest.count(b"\n") < LINES_AT_ONCE:
            continue
        *lines, rest = rest.split(b"\n")
        if ended and rest:
            lines.append(rest)
        for start in range(0, len(lines), LINES_AT_ONCE):
            chunk = lines[start : start + LINES_AT_ONCE]
            yield [decode_line(line, number + index, "standard input") for index, line in enumerate(chunk, 1)]
            number += len(chunk)


def show_how_to_end() -> None:
    """A command that reads from a terminal would otherwise seem to hang."""
    if os.isatty(0):
        from qkv.progress.terminal import say

        end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
        say(f"Type text and press Enter. On an empty line, press {end} to finish.")


def has_more_input() -> bool:
    try:
        return bool(select.select([0], [], [], 0)[0])
    except (OSError, ValueError):  # Windows can only select sockets
        return False
