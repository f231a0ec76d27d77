"""Glossaries that clients store on the server: one or several dictionaries, each for a language pair."""

import csv
import io
import json
import logging
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import write_json
from qkv.errors import DataError
from qkv.text.glossary import Glossary

MOST_GLOSSARIES = 1_000
MOST_ENTRIES = 100_000  # of one dictionary
LONGEST_NAME = 1_024
Entries = tuple[tuple[str, str], ...]
log = logging.getLogger(__name__)


class EntriesError(Exception):
    """Entries that cannot be used: the reason in a sentence."""


@dataclass(frozen=True)
class Dictionary:
    source: str
    target: str
    entries: Entries

    @cached_property
    def glossary(self) -> Glossary:
        return Glossary.of(self.entries)


@dataclass(frozen=True)
class StoredGlossary:
    identity: str
    name: str
    owner: str
    """The name of the API key; empty if the server has none."""
    dictionaries: tuple[Dictionary, ...]
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def dictionary(self, source: str, target: str) -> Dictionary | None:
        return next(
            (each for each in self.dictionaries if (each.source, each.target) == (source, target)), None
        )

    def with_dictionary(self, changed: Dictionary) -> "StoredGlossary":
        others = self.without_dictionary(changed.source, changed.target).dictionaries
        return replace(self, dictionaries=(*others, changed))

    def without_dictionary(self, source: str, target: str) -> "StoredGlossary":
        kept = tuple(each for each in self.dictionaries if (each.source, each.target) != (source, target))
        return replace(self, dictionaries=kept)


class GlossaryStore:
    """All glossaries, in memory and, if there is a folder, in one JSON file each."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder
        self.found: dict[str, StoredGlossary] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.json"))[:MOST_GLOSSARIES]:
                stored = read_glossary_file(path)
                self.found[stored.identity] = stored

    def put(self, stored: StoredGlossary) -> None:
        if stored.identity not in self.found and len(self.found) >= MOST_GLOSSARIES:
            raise EntriesError(
                f"this server stores at most {MOST_GLOSSARIES:,} glossaries. Delete one first."
            )
        self.found[stored.identity] = stored
        if self.folder is not None:
            write_json(self.folder / f"{stored.identity}.json", as_json(stored))

    def get(self, identity: str, owner: str) -> StoredGlossary | None:
        stored = self.found.get(identity.lower())
        return stored if stored is not None and stored.owner == owner else None

    def remove(self, stored: StoredGlossary) -> None:
        self.found.pop(stored.identity, None)
        if self.folder is not None:
            (self.folder / f"{stored.identity}.json").unlink(missing_ok=True)

    def of(self, owner: str) -> list[StoredGlossary]:
        return [each for each in self.found.values() if each.owner == owner]


def as_json(stored: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": stored.identity,
        "name": stored.name,
        "owner": stored.owner,
        "created": stored.created,
        "dictionaries": [
            {"source": each.source, "target": each.target, "entries": [list(pair) for pair in each.entries]}
            for each in stored.dictionaries
        ],
    }


def read_glossary_file(path: Path) -> StoredGlossary:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        dictionaries = tuple(
            Dictionary(
                str(each["source"]), str(each["target"]), tuple((str(a), str(b)) for a, b in each["entries"])
            )
            for each in values["dictionaries"]
        )
        identity = str(uuid.UUID(values["glossary_id"]))
        return StoredGlossary(
            identity, str(values["name"]), str(values["owner"]), dictionaries, str(values["created"])
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is not a stored glossary ({error}). Remove it.") from None


def is_identity(text: str) -> bool:
    """A UUID as this server writes it."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def new_identity() -> str:
    return str(uuid.uuid4())


# Entries as text ---------------------------------------------------------------------------------------------


def read_entries(text: str, form: str, source: str = "", target: str = "") -> Entries:
    """Entries in TSV, or in CSV with two columns or with languages in two more.

    Raises:
        EntriesError: A line cannot be used.
    """
    found = read_csv(text, source, target) if form == "csv" else read_tsv(text)
    terms: dict[str, str] = {}
    for number, (term, translation) in enumerate(found):
        term, translation = term.strip(), translation.strip()
        if not term or not translation:
            raise EntriesError(f"Key with the index {number} (starting at position 0) has an empty term")
        if term in terms:
            raise EntriesError(f"Key with the index {number} (starting at position 0) duplicates another key")
        terms[term] = translation
        if len(terms) > MOST_ENTRIES:
            raise EntriesError(f"more than {MOST_ENTRIES:,} entries")
    if not terms:
        raise EntriesError("Missing or invalid argument: entries")
    return tuple(terms.items())


def read_tsv(text: str) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise EntriesError(f"Key with the index {number} (starting at position 0) misses tab separator")
        yield columns[0], columns[1]


def read_csv(text: str, source: str, target: str) -> Iterable[tuple[str, str]]:
    try:
        for row in csv.reader(io.StringIO(text, newline="")):
            if len(row) < 2:
                continue
            if len(row) >= 4 and [row[2].lower(), row[3].lower()] != [source.lower(), target.lower()]:
                continue
            yield row[0], row[1]
    except csv.Error as error:
        raise EntriesError(f"Invalid CSV: {error}") from None


def write_tsv(entries: Entries) -> str:
    return "\n".join(f"{source}\t{target}" for source, target in entries)
