"""The SQLite file of a translation memory: its tables, how it is created and opened, and its errors."""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from qkv.errors import DataError

APPLICATION = 0x716B766D  # "qkvm", in the header of the file
VERSION = 1
SIGNATURE = b"SQLite format 3\x00"
PATIENCE = 30.0  # seconds to wait for another writer

# Keys are hashes of normalised texts; `pattern` is null without numbers and placeholders. The index of lengths holds the
# signatures too, so a search for similar texts reads nothing else.
SCHEMA = f"""
BEGIN;
CREATE TABLE languages (source TEXT, target TEXT);
INSERT INTO languages VALUES (NULL, NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL, context TEXT NOT NULL, origin TEXT NOT NULL,
    date TEXT NOT NULL, key BLOB NOT NULL, pattern BLOB, length INTEGER NOT NULL, signature BLOB NOT NULL,
    UNIQUE (key, context)
);
CREATE INDEX entries_by_pattern ON entries (pattern) WHERE pattern IS NOT NULL;
CREATE INDEX entries_by_length ON entries (length, signature);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""


def create(path: Path) -> None:
    """Create an empty memory. It appears complete, and a file that appeared meanwhile is kept."""
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {path.parent}: create it first.")
    part = path.with_name(f".tmp-{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        with sqlite_errors(path), closing(sqlite3.connect(part, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)
        try:
            os.link(part, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing memory, after checks that nothing else is opened or changed."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: give the file of a translation memory.")
    if not path.exists():
        raise DataError(f"there is no translation memory {path}: check the name and the folder.")
    with sqlite_errors(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            check_file(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def check_file(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise DataError(f"{path} is not a translation memory of qkv: give another file.")
    if version > VERSION:
        raise DataError(
            f"{path} has version {version} of the format of translation memories, but this qkv reads version {VERSION}: "
            "update qkv."
        )
    active = "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')"
    tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('entries', 'languages')"
    if connection.execute(active).fetchone() != (0,) or connection.execute(tables).fetchone() != (2,):
        raise damaged(path, "it has other tables")


def is_memory(path: Path) -> bool:
    """Whether a file is one of `Memory`, and not a file with pairs. Not if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Errors of SQLite become errors that a user can fix."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DataError(
                f"{path} is in use by another program: try again when that has finished."
            ) from None
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise DataError(
                f"{path} cannot be opened and written: check the permissions of the file and its folder."
            ) from None
        raise damaged(path, str(error)) from None


def damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is damaged or not a translation memory ({reason}): restore it from a copy, or create a new one from exported files."
    )
