"""Which files have strings, and which options they allow."""

from dataclasses import replace
from pathlib import Path

from qkv.documents import CATALOGS, extension_of, is_catalog
from qkv.documents.detection import HEAD, detect
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import ANY_FILE, FileOptions
from qkv.flags import OptionMessageError


def catalog_format(source: Path, files: FileOptions) -> str | None:
    """The format of a file with strings; None for plain text."""
    if files.format is None and is_catalog(source.name):
        return extension_of(source.name)
    if files.format is None and extension_of(source.name) != "txt":
        found = detect(head_of(source))
        if found is not None:
            return found
    if files.format in CATALOGS:
        return files.format
    if files != replace(ANY_FILE, format=files.format):
        raise OptionMessageError(
            "{all}, {also_fuzzy}, {accelerator}, {max_length_ratio}, {column}, {output_column} and {line_width} are not for plain "
            "text: leave them out."
        )
    return None


def head_of(path: Path) -> bytes:
    """The first bytes; none if there is no such file, which is an error later."""
    if not path.is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(HEAD)


def check_catalog_options(lines: LineTranslation) -> None:
    """What is written for each line of a text has no place in a catalog."""
    given = {
        "scores": lines.form.scores,
        "json": lines.form.json,
        "alignments": lines.options.alignments,
        "num_hypotheses": lines.options.num_hypotheses > 1,
    }
    names = " and ".join(f"{{{name}}}" for name, used in given.items() if used)
    if names:
        raise OptionMessageError(
            f"{names} can only be used for plain text. The report has scores of each string."
        )
