"""Read the bytes and lines of a file. Every problem raises a DataError."""

import codecs
import gzip
import re
import shlex
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path

from qkv.errors import DataError, MissingExtraError

HEAD = 4096  # bytes that show what a file is
CONTROLS = {*range(0x20), 0x7F} - {*b"\t\n\v\f\r\x1b"}


def without_compression(path: Path) -> str:
    """The name of a file in lower case, without .gz or .zst."""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst")


def open_zstd(path: Path) -> BufferedIOBase:
    """Python has zstd from 3.14 on. Both libraries notice a truncated file, and limit the memory that a file can ask for."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd

            return zstd.open(path)
        import pyarrow
    except ImportError:
        raise MissingExtraError(f"reading {path.name}", package="pyarrow", extra="corpus") from None
    return BufferedReader(pyarrow.input_stream(str(path), compression="zstd"))


def open_plain(path: Path) -> BufferedIOBase:
    name = path.name.lower()
    if name.endswith(".zst"):
        return open_zstd(path)
    return gzip.open(path) if name.endswith(".gz") else path.open("rb")


@contextmanager
def open_file(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file, decompressed if its name ends in .gz or .zst. Errors while opening or reading it become a DataError."""
    try:
        with open_plain(path) as stream:
            yield stream
    except FileNotFoundError:
        raise DataError(f"there is no file {path}: check the name and the folder.") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder: give a file inside it.") from None
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied.") from None
    except (EOFError, zlib.error):
        raise DataError(
            f"{path} is a truncated or damaged gzip file. Download or compress it again."
        ) from None
    except gzip.BadGzipFile:
        raise DataError(f"{path} ends in .gz but is not a gzip file: rename or compress it.") from None
    except OSError as error:
        if path.name.lower().endswith(".zst") and not error.errno:
            raise DataError(
                f"{path} is a truncated or damaged zstd file. Download or compress it again."
            ) from None
        raise DataError(f"{path} cannot be read ({error.strerror or error}): check the file.") from None


def reject_lone_surrogates(text: str, where: str) -> None:
    """Raise an error for half a surrogate pair, which JSON can contain but no tokenizer accepts."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{where} has half a character (a lone \\uD800–\\uDFFF): correct it.") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1. Lines end only at "\\n": U+2028, \\x0b and \\x1c are text."""
    anything = False
    with open_file(path) as stream:
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


def decode_line(line: bytes, number: int, where: str) -> str:
    """A line without its end. Errors name its number, from 1, and where it is from."""
    if number == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(
            f"line {number} of {where} is not UTF-8: convert it, for example with iconv."
        ) from None


def empty_file(path: Path) -> DataError:
    return DataError(f"{path} is empty: give a file with text.")


def not_utf8(path: Path, line: int, raw: bytes) -> DataError:
    """An error with a command that converts the file, if it looks like text."""
    utf16 = line == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not utf16 and is_binary(path, raw):
        return DataError(f"{path} is not a text file: give a file with text in UTF-8.")
    convert = f"iconv -f {'utf-16' if utf16 else 'latin1'} -t utf-8"
    zipped = path.suffix.lower() == ".gz"
    plain = path.with_suffix("") if zipped else path
    converted = shlex.quote(str(plain.with_name(f"{plain.stem}.utf8{plain.suffix}")))
    original = shlex.quote(str(path))
    command = f"gunzip -c {original} | {convert}" if zipped else f"{convert} {original}"
    return DataError(
        f"{path} is not UTF-8 (line {line}): convert it, for example with `{command} > {converted}`."
    )


def is_binary(path: Path, raw: bytes) -> bool:
    """Do control characters show that this is no text? `raw` stands for a file that cannot be opened again, a pipe."""
    if path.is_file():
        with open_file(path) as stream:
            raw = stream.read(HEAD)
    return any(byte in CONTROLS for byte in raw[:HEAD])


def one_line(text: str) -> str:
    """Replace line breaks, with the white space around them, by one space each."""
    return " ".join(line.strip(" \t") for line in re.split(r"[\r\n]+", text)).strip()
