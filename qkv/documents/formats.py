"""The formats of documents by file name extension. A new format is a reader and a line here."""

from collections.abc import Callable
from pathlib import PurePath

from qkv.documents.document import Document
from qkv.documents.html import read_html
from qkv.documents.plain import read_plain
from qkv.errors import DataError

Reader = Callable[[bytes], Document]
FORMATS: dict[str, Reader] = {"txt": read_plain, "html": read_html, "htm": read_html}


def supported_formats() -> list[str]:
    """Extensions with a dot, as file dialogs want them."""
    return [f".{extension}" for extension in FORMATS]


def extension_of(name: str) -> str:
    """The extension of a file name in lower case, without its dot."""
    return PurePath(name).suffix[1:].lower()


def read_document(name: str, content: bytes) -> Document:
    """Find the texts of a file. Its name decides the format."""
    reader = FORMATS.get(extension_of(name))
    if reader is None:
        known = ", ".join(supported_formats())
        raise DataError(f"documents of type '.{extension_of(name)[:20]}' are not supported; use {known}.")
    return reader(content)
