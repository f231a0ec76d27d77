"""Memory: a translation memory in one SQLite file."""

from __future__ import annotations

import heapq
import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from qkv.data.language_tags import check_different, language_tag, matching_tag
from qkv.errors import DataError, InputError, InputTypeError, check_rules, type_name
from qkv.localization.adapting import adapt, pattern_of
from qkv.localization.entry import LEVELS, Added, Entry, Level, MemoryMatch, date_text
from qkv.localization.similarity import (
    BUCKETS,
    FUZZY,
    LONGEST,
    candidates,
    length_range,
    overlaps,
    signature,
    similarity,
)
from qkv.localization.storage import connect, create, damaged, sqlite_errors

CHUNK = 5_000  # rows that are in memory at once
ADAPTED = 50  # entries of one pattern that are tried
COLUMNS = "source, target, context, origin, date"
Row = tuple[str, str, str, str, str]

STAGE = """
CREATE TEMP TABLE staged (source, target, context, origin, date, key, pattern, length, signature)"""
# Newest wins in the same context. Among entries of one date that is the one that was added last.
MERGE = """
INSERT INTO entries (source, target, context, origin, date, key, pattern, length, signature)
SELECT * FROM staged WHERE true ORDER BY rowid
ON CONFLICT (key, context) DO UPDATE SET source = excluded.source, target = excluded.target, origin = excluded.origin,
    date = excluded.date, pattern = excluded.pattern, length = excluded.length, signature = excluded.signature
WHERE excluded.date >= entries.date"""


class Memory:
    """A translation memory: translations by people, to be used again. It is one SQLite file.

    Several threads and several programs may use it at once.

    Example:
        >>> with qkv.Memory.open("example.qkvm", source_language="en", target_language="de") as memory:
        ...     _ = memory.add("Open %d files", "%d Dateien öffnen")
        ...     memory.lookup("Open %s files").target
        '%s Dateien öffnen'
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self._path, self._connection = path, connection
        self._lock = threading.RLock()
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        source_language: str | None = None,
        target_language: str | None = None,
        create_missing: bool = True,
    ) -> Memory:
        """Open a memory, or create it.

        Args:
            path: The file.
            source_language: Such as en. A memory keeps its languages, so they are needed once.
            target_language: Such as de.
            create_missing: Create the file if there is none; otherwise that is an error.

        Returns:
            The memory. Close it after use, or open it in a `with` statement.

        Raises:
            DataError: The file is damaged, of another program or a newer qkv, or has other languages.

        Example:
            >>> memory = qkv.Memory.open("opened.qkvm", source_language="en", target_language="de")
            >>> len(memory)
            0
            >>> memory.close()
        """
        path = Path(path)
        if create_missing and not path.exists():
            create(path)
        memory = cls(path, connect(path))
        try:
            if source_language or target_language:
                memory.check_languages(source_language, target_language, "the program")
        except BaseException:
            memory.close()
            raise
        return memory

    # Add ---------------------------------------------------------------------------------------------

    def add(self, source: str, target: str, *, context: str = "", origin: str = "") -> Added:
        """Add one translation. It replaces that of the same source in the same context.

        Args:
            source: The source text.
            target: Its translation.
            context: What distinguishes equal texts, such as a key or gettext's msgctxt.
            origin: Where the translation comes from.

        Returns:
            How many entries are new, and how many were updated.

        Example:
            >>> with qkv.Memory.open("add.qkvm") as memory:
            ...     memory.add("Open", "Öffnen", context="menu").new
            ...     memory.add("Open", "Offen", context="state").new
            ...     memory.lookup("Open", context="state").target
            1
            1
            'Offen'
        """
        return self.add_entries([Entry(source=source, target=target, context=context, origin=origin)])

    def add_pairs(self, pairs: Iterable[tuple[str, str]], *, context: str = "", origin: str = "") -> Added:
        """Add pairs of a source and its translation: all of them or, after an error, none.

        Args:
            pairs: A list or an iterator.
            context: The context of all pairs.
            origin: Where they come from.

        Returns:
            How many entries are new, and how many were updated.

        Example:
            >>> with qkv.Memory.open("pairs.qkvm") as memory:
            ...     memory.add_pairs([("one", "eins"), ("two", "zwei")]).new
            2
        """
        return self.add_entries(
            Entry(source=source, target=target, context=context, origin=origin)
            for source, target in map(checked_pair, pairs)
        )

    def add_file(self, *files: str | os.PathLike[str], origin: str | None = None) -> Added:
        """Add the translations of a file (.tmx, .tsv, .jsonl or .po, also gzipped), or of two text files that match line by line.

        Args:
            files: One file with both sides, or two text files.
            origin: Where the translations come from; by default the name of the file, or what a .tmx says.

        Returns:
            How many entries are new, and how many were updated.

        Example:
            >>> _ = Path("few.tsv").write_text("one\\teins\\n")
            >>> with qkv.Memory.open("file.qkvm", source_language="en", target_language="de") as memory:
            ...     memory.add_file("few.tsv").new
            1
        """
        from qkv.localization.reading import read_files

        found = read_files([Path(each) for each in files], self.languages, origin)
        return self.add_entries(found.entries, found.languages, found.name)

    def add_entries(
        self,
        entries: Iterable[Entry],
        languages: tuple[str | None, str | None] = (None, None),
        where: str = "the program",
    ) -> Added:
        """Add entries, which `where` says to be in these languages: all of them or, after an error, none.

        They are collected in a temporary table, so that other writers wait only while that is copied.

        Args:
            entries: A list or an iterator.
            languages: Source and target language, if known.
            where: The name of the file, for error messages.

        Returns:
            How many entries are new, and how many were updated.
        """
        self._check_open()
        now = datetime.now(UTC)
        rows = (row_of(entry, now) for entry in entries)
        with sqlite_errors(self._path), closing(connect(self._path)) as writer:
            writer.execute(STAGE)
            writer.execute("BEGIN")
            read = 0
            while chunk := list(islice(rows, CHUNK)):
                writer.executemany("INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", chunk)
                read += len(chunk)
            writer.execute("COMMIT")
            with transaction(writer):
                self._agree(writer, languages, where)
                [last] = writer.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
                changed = writer.execute(MERGE).rowcount
                [new] = writer.execute("SELECT count(*) FROM entries WHERE id > ?", [last]).fetchone()
        return Added(read=read, new=new, updated=max(0, changed - new))

    # Languages ---------------------------------------------------------------------------------------

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """Source and target language. None if the memory was not told yet."""
        with self._reading() as connection:
            return stored_languages(connection, self._path)

    def check_languages(self, source: str | None, target: str | None, where: str) -> None:
        """Raise an error if the memory is of other languages. One without languages takes these."""
        self._check_open()
        with sqlite_errors(self._path), closing(connect(self._path)) as writer, transaction(writer):
            self._agree(writer, (source, target), where)

    def _agree(self, writer: sqlite3.Connection, given: tuple[str | None, str | None], where: str) -> None:
        stored = stored_languages(writer, self._path)
        for side, had, has in zip(("source", "target"), stored, given, strict=True):
            if had and has and matching_tag(has, [had]) is None:
                raise DataError(
                    f"the {side} language of {self._path} is {had}, but that of {where} is {has}: use a memory for each "
                    "pair of languages."
                )
        both = [had or (has and language_tag(has)) for had, has in zip(stored, given, strict=True)]
        if both[0] and both[1]:
            check_different(both[0], both[1])
        if tuple(both) != stored:
            writer.execute("UPDATE languages SET source = ?, target = ?", both)

    # Find --------------------------------------------------------------------------------------------

    def lookup(self, text: str, *, context: str = "") -> MemoryMatch | None:
        """The translation of a text, if the memory has one that can be used as it is.

        That is an entry of the same text in the same context, of the same text, or of a text that differs in numbers and
        placeholders only. Similar texts are found by `search`.

        Args:
            text: The source text.
            context: Its context.

        Returns:
            The best match, or None.

        Example:
            >>> with qkv.Memory.open("lookup.qkvm") as memory:
            ...     _ = memory.add("Chapter 1", "Kapitel 1")
            ...     memory.lookup("Chapter 7").target
            ...     print(memory.lookup("Chapters"))
            'Kapitel 7'
            None
        """
        check_text("text", text)
        check_text("context", context)
        return next(self._usable(text, context), None)

    def search(self, text: str, *, context: str = "", limit: int = 5) -> list[MemoryMatch]:
        """Entries of the same and of similar texts, the best first. Similar texts share at least 75 %.

        Args:
            text: The source text.
            context: Its context.
            limit: The largest number of matches.

        Returns:
            What `lookup` chooses from, and similar texts of the level "fuzzy".

        Example:
            >>> with qkv.Memory.open("search.qkvm") as memory:
            ...     _ = memory.add("The file was deleted.", "Die Datei wurde gelöscht.")
            ...     [(match.level, round(match.score, 2)) for match in memory.search("The file is deleted.")]
            [('fuzzy', 0.93)]
        """
        check_text("text", text)
        check_text("context", context)
        check_rules([("limit", "must be at least 1", limit >= 1)])
        found = list(islice(self._usable(text, context), limit))
        if len(found) < limit:
            known = {(each.source, each.context) for each in found}
            similar = (each for each in self._similar(text) if (each.source, each.context) not in known)
            found += islice(similar, limit - len(found))
        return found

    def _usable(self, text: str, context: str) -> Iterator[MemoryMatch]:
        """Matches that are translations of the text, the best first."""
        order = "ORDER BY context = ? DESC, context = '' DESC, date DESC, id DESC"
        for row in self._rows(f"WHERE key = ? {order}", [key_of(text), context]):
            same = bool(context) and row[2] == context
            yield match_of(row, "context" if same else "exact", 1.0)
        pattern = pattern_key(text)
        if pattern is None:
            return
        condition = f"WHERE pattern = ? AND key != ? {order} LIMIT {ADAPTED}"
        for row in self._rows(condition, [pattern, key_of(text), context]):
            adapted = adapt(normalise(text), normalise(row[0]), row[1])
            if adapted is not None:
                score = similarity(normalise(text)[:LONGEST], normalise(row[0])[:LONGEST])
                yield match_of((row[0], adapted, *row[2:]), "adapted", score)

    def _similar(self, text: str) -> list[MemoryMatch]:
        wanted = normalise(text)
        if not wanted or len(wanted) > LONGEST:
            return []
        marks = [number for _, number in self._candidates(wanted)]
        places = ", ".join("?" * len(marks))
        found = []
        for row in self._rows(f"WHERE id IN ({places})", marks):
            score = similarity(wanted, normalise(row[0]))
            if score >= FUZZY:
                found.append(match_of(row, "fuzzy", score))
        found.sort(key=lambda each: each.date, reverse=True)
        return sorted(found, key=lambda each: -each.score)

    def _candidates(self, wanted: str) -> list[tuple[float, int]]:
        """Estimated similarities and numbers of the entries that are most like a text."""
        own, most = signature(wanted), candidates(len(wanted))
        best: list[tuple[float, int]] = []
        query = "SELECT id, length, signature FROM entries WHERE length BETWEEN ? AND ?"
        with self._reading() as connection:
            cursor = connection.execute(query, length_range(len(wanted)))
            while rows := cursor.fetchmany(CHUNK):
                if any(type(mark) is not bytes or len(mark) != BUCKETS for _, _, mark in rows):
                    raise damaged(self._path, "a signature has another length")
                shares = overlaps(own, [row[2] for row in rows], [row[1] for row in rows])
                estimates = zip(shares.tolist(), (row[0] for row in rows), strict=True)
                best = heapq.nlargest(most, [*best, *estimates])
        return best

    # The file ----------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Write all entries to a .tmx or .tsv file, also gzipped. A .tsv has sources and targets only, in one line each.

        Args:
            path: The file.
            overwrite: Replace the file if it exists.

        Returns:
            The number of entries.

        Example:
            >>> with qkv.Memory.open("export.qkvm", source_language="en", target_language="de") as memory:
            ...     _ = memory.add("one", "eins")
            ...     memory.export("export.tmx")
            1
        """
        from qkv.localization.exporting import export_entries

        return export_entries(self, Path(path), overwrite=overwrite)

    def entries(self) -> Iterator[MemoryMatch]:
        """All entries as they are now, in the order in which they were added.

        Returns:
            An iterator. Entries that are added meanwhile do not appear.

        Example:
            >>> with qkv.Memory.open("entries.qkvm") as memory:
            ...     _ = memory.add("one", "eins")
            ...     [entry.target for entry in memory.entries()]
            ['eins']
        """
        self._check_open()
        with sqlite_errors(self._path), closing(connect(self._path)) as reader:
            for row in reader.execute(f"SELECT {COLUMNS} FROM entries ORDER BY id"):
                yield match_of(self._checked(row), "exact", 1.0)

    def __len__(self) -> int:
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])

    def __bool__(self) -> bool:
        """An empty memory is a memory too."""
        return True

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def __repr__(self) -> str:
        return f"Memory({str(self._path)!r})"

    def close(self) -> None:
        """Close the file. A closed memory cannot be used any more.

        Example:
            >>> memory = qkv.Memory.open("closed.qkvm")
            >>> memory.close()
        """
        with self._lock:
            self._closed = True
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _rows(self, condition: str, values: list[Any]) -> list[Row]:
        with self._reading() as connection:
            found = connection.execute(f"SELECT {COLUMNS} FROM entries {condition}", values).fetchall()
        return [self._checked(row) for row in found]

    def _checked(self, row: Any) -> Row:
        """Any type fits into a column of SQLite."""
        if not all(isinstance(each, str) for each in row):
            raise damaged(self._path, "a text is no text")
        checked: Row = row
        return checked

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The connection that all threads share for reading, one after the other."""
        with self._lock, sqlite_errors(self._path):
            self._check_open()
            yield self._connection

    def _check_open(self) -> None:
        if self._closed:
            raise InputError(f"the translation memory {self._path} is closed: open it again.")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def stored_languages(connection: sqlite3.Connection, path: Path) -> tuple[str | None, str | None]:
    row = connection.execute("SELECT source, target FROM languages").fetchone()
    if row is None or not all(each is None or isinstance(each, str) for each in row):
        raise damaged(path, "it has no languages")
    return row[0], row[1]


# Texts and keys --------------------------------------------------------------------------------------


def normalise(text: str) -> str:
    """Unicode has several ways to write the same character."""
    return unicodedata.normalize("NFC", text)


def key_of(text: str) -> bytes:
    return digest(normalise(text))


def pattern_key(text: str) -> bytes | None:
    pattern = pattern_of(normalise(text))
    return None if pattern is None else digest(pattern)


def digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8"), digest_size=16).digest()


def row_of(entry: Entry, now: datetime) -> tuple[Any, ...]:
    for name in ("source", "target", "context", "origin"):
        check_text(name, getattr(entry, name))
    if not entry.source.strip() or not entry.target.strip():
        raise InputError("a source or a target is empty: a memory holds texts and their translations.")
    wanted = normalise(entry.source)
    date = min(now, entry.date or now)  # a date in the future would win for ever
    return (
        entry.source,
        entry.target,
        entry.context,
        entry.origin,
        date_text(date),
        digest(wanted),
        pattern_key(entry.source),
        len(wanted),
        signature(wanted),
    )


def check_text(name: str, text: Any) -> None:
    if not isinstance(text, str):
        raise InputTypeError(f"{name} is {type_name(text)}; expected str.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name} has half a character (a lone \\uD800–\\uDFFF): correct it.") from None


def checked_pair(pair: Any) -> tuple[str, str]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError("a pair has not two items; expected a source and a target.")
    return pair[0], pair[1]


def match_of(row: Row, level: Level, score: float) -> MemoryMatch:
    assert level in LEVELS
    source, target, context, origin, date = row
    return MemoryMatch(
        level=level, source=source, target=target, score=score, context=context, origin=origin, date=date
    )
