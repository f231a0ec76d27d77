"""The formats of documents by file name extension. A new format is a reader and a line here."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath

from qkv.documents.document import Document
from qkv.documents.reading import DEFAULT_READING, Reading, ReadingOptions
from qkv.errors import DataError


@dataclass(frozen=True)
class Reader:
    """The function that finds the texts of a format. Its module is imported when a file of the format is read."""

    module: str
    function: str
    takes_options: bool = False
    """Whether it takes all reading options, and not only the target language."""

    def __call__(self, content: bytes, reading: Reading) -> Document:
        read = getattr(import_module(f"qkv.documents.{self.module}"), self.function)
        found: Document = read(content, reading if self.takes_options else reading.target)
        return found


FORMATS: dict[str, Reader] = {
    "txt": Reader("plain", "read_plain"),
    "html": Reader("html", "read_html"),
    "htm": Reader("html", "read_html"),
    "srt": Reader("subtitles", "read_srt", takes_options=True),
    "vtt": Reader("subtitles", "read_vtt", takes_options=True),
    "xliff": Reader("xliff", "read_xliff"),
    "xlf": Reader("xliff", "read_xliff"),
    "md": Reader("markdown", "read_markdown"),
    "markdown": Reader("markdown", "read_markdown"),
    "mdx": Reader("markdown", "read_mdx"),
    "ipynb": Reader("notebook", "read_notebook"),
    "docx": Reader("office", "read_docx"),
    "pptx": Reader("office", "read_pptx"),
    "xlsx": Reader("spreadsheet", "read_xlsx"),
    "odt": Reader("odf", "read_odt"),
    "epub": Reader("epub", "read_epub"),
}
"""Running text. Servers accept these."""
CATALOGS: dict[str, Reader] = {
    "po": Reader("po", "read_po"),
    "pot": Reader("po", "read_po"),
    "json": Reader("json", "read_json"),
    "arb": Reader("json", "read_arb"),
    "properties": Reader("properties", "read_properties"),
    "strings": Reader("strings", "read_strings"),
    "yaml": Reader("yaml", "read_yaml"),
    "yml": Reader("yaml", "read_yaml"),
    "csv": Reader("tables", "read_csv", takes_options=True),
    "tsv": Reader("tables", "read_tsv", takes_options=True),
    "jsonl": Reader("tables", "read_jsonl", takes_options=True),
    "xml": Reader("android", "read_android"),
    "resx": Reader("resx", "read_resx"),
    "ts": Reader("qt", "read_qt"),
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
