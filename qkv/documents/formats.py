"""The formats of documents by file name extension. A new format is a reader and a line here."""

from collections.abc import Callable
from pathlib import PurePath

from qkv.documents.android import read_android
from qkv.documents.document import Document
from qkv.documents.html import read_html
from qkv.documents.json import read_arb, read_json
from qkv.documents.plain import read_plain
from qkv.documents.po import read_po
from qkv.documents.qt import read_qt
from qkv.documents.resx import read_resx
from qkv.documents.xliff import read_xliff
from qkv.errors import DataError

FORMATS: dict[str, Callable[[bytes], Document]] = {"txt": read_plain, "html": read_html, "htm": read_html}
"""Running text."""
CATALOGS: dict[str, Callable[[bytes, str | None], Document]] = {
    "po": read_po,
    "pot": read_po,
    "json": read_json,
    "arb": read_arb,
    "xliff": read_xliff,
    "xlf": read_xliff,
    "xml": read_android,
    "resx": read_resx,
    "ts": read_qt,
}
"""Strings of programs. Their readers also take the language that the file is translated into."""
ADVICE = {
    "pdf": "a PDF has no room for longer text: save the document that it was made from as plain text",
    "rst": "let Sphinx extract a .po file (sphinx-build -b gettext), and translate that",
    "tex": "its commands cannot be told from text: save the text as plain text",
}


def supported_formats() -> list[str]:
    """Extensions of running text with a dot, as file dialogs want them."""
    return [f".{extension}" for extension in FORMATS]


def extension_of(name: str) -> str:
    """The extension of a file name in lower case, without its dot."""
    return PurePath(name).suffix[1:].lower()


def is_catalog(name: str) -> bool:
    """Whether a file has strings of a program, by its name.

    Raises:
        DataError: It has a format that cannot be translated in place.
    """
    extension = extension_of(name)
    if extension in ADVICE:
        raise DataError(f"{name}: .{extension} files cannot be translated: {ADVICE[extension]}.")
    return extension in CATALOGS


def read_document(name: str, content: bytes) -> Document:
    """Find the texts of a file with running text. Its name decides the format."""
    reader = FORMATS.get(extension_of(name))
    if reader is None:
        known = ", ".join(supported_formats())
        raise DataError(f"documents of type '.{extension_of(name)[:20]}' are not supported; use {known}.")
    return reader(content)


def read_catalog(format: str, content: bytes, target: str | None = None) -> Document:
    """Find the strings of a catalog in this format. `target` is the language that they are translated into."""
    return CATALOGS[format](content, target)
