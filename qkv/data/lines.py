"""Read the bytes and lines of a user's file. Every fault is a UserError."""

import codecs
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from qkv.errors import UserError


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """The file's bytes, unzipped where its name ends in .gz; faults of opening and of reading as UserError."""
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise UserError(f"There is no file {path}: check the name and the folder.") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give a file inside it.") from None
    except PermissionError:
        raise UserError(f"{path} cannot be read: permission denied.") from None
    except (EOFError, zlib.error):
        raise UserError(
            f"{path} is a truncated or damaged gzip file. Download or compress it again."
        ) from None
    except gzip.BadGzipFile:
        raise UserError(f"{path} is not gzip although its name ends in .gz: rename it or zip it.") from None
    except OSError as error:
        raise UserError(f"{path} could not be read ({error.strerror or error}): check the file.") from None


def refuse_halves(text: str, where: str) -> None:
    """JSON can spell half of a surrogate pair, which no tokenizer accepts."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{where} holds half a character (a lone \\uD800–\\uDFFF): put it right.") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1. Reading bytes splits on "\\n" alone: U+2028, \\x0b, \\x1c are text."""
    anything = False
    with opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError:
                raise not_utf8(path, number, raw) from None
            anything = anything or bool(line.strip())
            yield number, line
    if not anything:
        raise empty_file(path)


def empty_file(path: Path) -> UserError:
    return UserError(f"{path} is empty: give a file with sentences in it.")


def not_utf8(path: Path, line: int, raw: bytes) -> UserError:
    """Says how to convert, in a command that can be pasted."""
    utf16 = line == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    convert = f"iconv -f {'utf-16' if utf16 else 'latin1'} -t utf-8"
    zipped = path.suffix.lower() == ".gz"
    plain = path.with_suffix("") if zipped else path
    converted = shlex.quote(str(plain.with_name(f"{plain.stem}.utf8{plain.suffix}")))
    original = shlex.quote(str(path))
    command = f"gunzip -c {original} | {convert}" if zipped else f"{convert} {original}"
    return UserError(
        f"{path} is not UTF-8 (line {line}): convert it, for example by `{command} > {converted}`."
    )


def one_line(text: str) -> str:
    """Training is by lines: a line break inside a sentence, with the blanks around it, becomes one space."""
    return " ".join(line.strip(" \t") for line in re.split(r"[\r\n]+", text)).strip()
