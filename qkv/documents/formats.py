"""The formats of documents by file name extension. A new format is a reader and a line here."""

from collections.abc import Callable
from pathlib import PurePath

from qkv.documents.android import read_android
from qkv.documents.document import Document
from qkv.documents.epub import read_epub
from qkv.documents.html import read_html
from qkv.documents.json import read_arb, read_json
from qkv.documents.markdown import read_markdown, read_mdx
from qkv.documents.odf import read_odt
from qkv.documents.office import read_docx, read_pptx
from qkv.documents.plain import read_plain
from qkv.documents.po import read_po
from qkv.documents.properties import read_properties
from qkv.documents.qt import read_qt
from qkv.documents.reading import DEFAULT_READING, Reading, ReadingOptions
from qkv.documents.resx import read_resx
from qkv.documents.spreadsheet import read_xlsx
from qkv.documents.strings import read_strings
from qkv.documents.subtitles import read_srt, read_vtt
from qkv.documents.tables import read_csv, read_jsonl, read_tsv
from qkv.documents.xliff import read_xliff
from qkv.documents.yaml import read_yaml
from qkv.errors import DataError

Reader = Callable[[bytes, Reading], Document]


def with_target(read: Callable[[bytes, str | None], Document]) -> Reader:
    return lambda content, reading: read(content, reading.target)


def without_options(read: Callable[[bytes], Document]) -> Reader:
    return lambda content, reading: read(content)


FORMATS: dict[str, Reader] = {
    "txt": without_options(read_plain),
    "html": with_target(read_html),
    "htm": with_target(read_html),
    "srt": read_srt,
    "vtt": read_vtt,
    "xliff": with_target(read_xliff),
    "xlf": with_target(read_xliff),
    "md": with_target(read_markdown),
    "markdown": with_target(read_markdown),
    "mdx": with_target(read_mdx),
    "docx": with_target(read_docx),
    "pptx": with_target(read_pptx),
    "xlsx": with_target(read_xlsx),
    "odt": with_target(read_odt),
    "epub": with_target(read_epub),
}
"""Running text. Servers accept these."""
CATALOGS: dict[str, Reader] = {
    "po": with_target(read_po),
    "pot": with_target(read_po),
    "json": with_target(read_json),
    "arb": with_target(read_arb),
    "properties": with_target(read_properties),
    "strings": with_target(read_strings),
    "yaml": with_target(read_yaml),
    "yml": with_target(read_yaml),
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "xml": with_target(read_android),
    "resx": with_target(read_resx),
    "ts": with_target(read_qt),
    **{name: read for name, read in FORMATS.items() if name != "txt"},
}
"""What is translated in place: every byte outside the texts stays."""
ADVICE = {
    "pdf": "Translate the document that the PDF was made from, or its plain text",
    "rst": "Let Sphinx extract a .po file (sphinx-build -b gettext), and translate that",
    "tex": "Their commands cannot be told from text: save the text as plain text",
}


def supported_formats() -> list[str]:
    """Extensions of running text with a dot, as file dialogs want them."""
    return [f".{extension}" for extension in FORMATS]


def extension_of(name: str) -> str:
    """The extension of a file name in lower case, without its dot."""
    return PurePath(name).suffix[1:].lower()


def is_catalog(name: str) -> bool:
    """Whether a file is translated in place, by its name. Other files are translated line by line.

    Raises:
        DataError: It has a format that cannot be translated in place.
    """
    extension = extension_of(name)
    if extension in ADVICE:
        raise DataError(f"{name}: .{extension} files cannot be translated. {ADVICE[extension]}.")
    return extension in CATALOGS


def read_document(name: str, content: bytes, target: str | None = None) -> Document:
    """Find the texts of a file with running text. Its name decides the format.

    Args:
        target: The language that they are translated into.
    """
    reader = FORMATS.get(extension_of(name))
    if reader is None:
        known = ", ".join(supported_formats())
        raise DataError(f"documents of type '.{extension_of(name)[:20]}' are not supported; use {known}.")
    return reader(content, Reading(target=target))


def read_catalog(
    format: str, content: bytes, target: str | None = None, options: ReadingOptions = DEFAULT_READING
) -> Document:
    """Find the texts of a file in this format.

    Args:
        target: The language that they are translated into.
    """
    return CATALOGS[format](content, Reading.of(options, target))
