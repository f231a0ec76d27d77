"""`qkv translate`: text or lines in, one line for each out."""

import codecs
import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tyro

from qkv.cli.options import read_options
from qkv.errors import UserError

LINES_AT_ONCE = 2_000  # bounds the memory that a long file takes


@dataclass(frozen=True, kw_only=True)
class Translate:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    text: tyro.conf.Positional[tuple[str, ...]] = ()
    """What to translate; without it, lines are read from standard input."""
    beam: int | None = None
    """Hypotheses kept at every step; 1 is greedy. The model has its own default."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Translate,
        arguments,
        prog="qkv translate",
        description="Translate text, or lines from standard input to standard output, one line for each.",
    )
    for text in command.text:
        check_text(text)
    from qkv.cli.terminal import counting
    from qkv.pipeline import load

    translator = load(command.model)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    for lines in [list(command.text)] if command.text else standard_input():
        with counting("translating", len(lines)) as done:
            answers = translator.translate(
                lines, beam=command.beam, length_penalty=command.length_penalty, done=done
            )
        for answer in answers:
            print(without_breaks(answer))
        sys.stdout.flush()


def check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(
            "the text is not UTF-8: convert it, or set your terminal's encoding to UTF-8."
        ) from None


def without_breaks(text: str) -> str:
    """A model may say anything, but each line of input gets one line of output."""
    return text.replace("\r", " ").replace("\n", " ")


def standard_input() -> Iterator[list[str]]:
    """Lines as they come: many at a time from a file, one by one from a person or a slow pipe."""
    rest, number, ended = b"", 0, False
    while not ended:
        block = os.read(0, 1 << 16)
        ended = not block
        rest += block
        if not ended and more_is_there() and rest.count(b"\n") < LINES_AT_ONCE:
            continue
        *lines, rest = rest.split(b"\n")
        if ended and rest:
            lines.append(rest)
        for start in range(0, len(lines), LINES_AT_ONCE):
            chunk = lines[start : start + LINES_AT_ONCE]
            yield [decoded(line, number + index) for index, line in enumerate(chunk, 1)]
            number += len(chunk)


def more_is_there() -> bool:
    try:
        return bool(select.select([0], [], [], 0)[0])
    except (OSError, ValueError):  # Windows can select sockets only
        return False


def decoded(line: bytes, number: int) -> str:
    if number == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(
            f"line {number} of standard input is not UTF-8: convert it, for example with iconv."
        ) from None
