"""Which files of weights were compared with their hash, so that one that did not change is not read again.

The note is next to a packed file. It holds the identity, size and times of every copy of the weights that was verified.
"""

import json
from contextlib import suppress
from pathlib import Path

from qkv.checkpoint.arrays import StoredArrays
from qkv.checkpoint.files import write_file

ENDING = ".verified"
MOST = 16  # copies of one model that a note remembers


def verify_if_changed(packed: Path, weights: StoredArrays) -> None:
    """Verify the weights, unless the same file was verified before. A damaged file is a DataError."""
    stamp, known = stamp_of(weights.path), stamps_in(note_of(packed))
    if stamp not in known:
        weights.verify()
        remember(packed, [*known, stamp][-MOST:])


def note_of(packed: Path) -> Path:
    return packed.with_suffix(ENDING)


def stamp_of(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def stamps_in(note: Path) -> list[list[int]]:
    try:
        found = json.loads(note.read_bytes()[: 1 << 16])
    except (OSError, ValueError, RecursionError):  # missing or damaged: verify again
        return []
    return [each for each in found if isinstance(each, list)] if isinstance(found, list) else []


def remember(packed: Path, stamps: list[list[int]]) -> None:
    with suppress(OSError):  # a folder that cannot be written to: verify at every start
        write_file(note_of(packed), json.dumps(stamps).encode())
