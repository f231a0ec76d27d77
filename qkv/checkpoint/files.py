"""Write files atomically, and detect damage when reading them."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from qkv.errors import DataError

HASH = "sha256"


def write_file(path: Path, content: bytes) -> None:
    """Write next to the target, flush to disk, then rename."""
    with staged(path) as temporary:
        write_through(temporary, content)


def copy_file(source: Path, target: Path) -> None:
    """Copy next to the target, flush to disk, then rename. The file may be larger than memory."""
    with staged(target) as temporary, open(source, "rb") as reader, open(temporary, "wb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        os.fsync(writer.fileno())


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """A file next to the target, which is renamed when it is complete."""
    temporary = path.with_name(f".tmp-{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):  # free the space: the disk may be full
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_through(path: Path, content: bytes) -> None:
    """Write and flush to disk. A failure leaves part of a file behind."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]  # a nearly full disk may accept only a part
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folders(folder: Path) -> None:
    """Make a folder and its parents, and flush their names to disk."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, and with it the renames in it."""
    if os.name != "posix":  # Windows cannot open a folder, and does not need this
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Any) -> None:
    write_file(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def seal(value: Mapping[str, Any]) -> dict[str, Any]:
    """Add a hash of the content, which shows a changed bit."""
    return {**value, HASH: bytes_hash(canonical(value))}


def read_sealed(path: Path, *, from_the_disk: bool = False) -> dict[str, Any]:
    """Read a sealed file. Every byte must match, also white space."""
    if from_the_disk:
        drop_cached_pages(path)
    value = read_json(path)
    if isinstance(value, dict):
        stored_hash = value.pop(HASH, None)
        if stored_hash == bytes_hash(canonical(value)) and path.read_bytes() == json_bytes(seal(value)):
            return value
    raise DataError(
        f"{path} is damaged, or was written by an earlier version of qkv. Restore it from a copy or train again."
    )


def canonical(value: Any) -> bytes:
    """The same bytes for the same content, in any order of keys."""
    return json.dumps(value, sort_keys=True).encode()


def bytes_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_hash(path: Path, *, from_the_disk: bool = False) -> str:
    if from_the_disk:
        drop_cached_pages(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def drop_cached_pages(path: Path) -> None:
    """Ask the system to drop the file from its page cache, so that it is read from disk."""
    if hasattr(os, "posix_fadvise"):
        with suppress(FileNotFoundError), open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}).") from None


@contextmanager
def lock_file(path: Path, otherwise: str) -> Iterator[None]:
    """Hold a lock on a file. `otherwise` is the error if another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows, where an open file could not be renamed either
        yield
        return
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(otherwise) from None
        yield
