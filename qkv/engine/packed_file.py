"""Packed weights in a file, so that a model is packed once and then opens quickly.

A file in the cache folder holds the int8 weights of one model in the layout of the compiled loops. Processes map it and
share its pages. It is found by the hash of the weights, which the bundle states, and is checked completely whenever it is
opened. So it does not matter whether the bundle has been copied, moved or touched. Embeddings need no packing: they are
mapped from the bundle, and the file holds their hash.

If there is no file, or it is damaged, the weights are read and checked as usual, packed, and the file is written again.

    8 bytes   MAGIC
    8 bytes   length of the header, little-endian
    32 bytes  sha256 of the header
    header    JSON: key, arrays (name -> number format, shape, offset), tables (name -> sha256), hashes of the data
    data      from the next multiple of PAGE; every array begins on a cache line

The least recently used files are deleted when all together exceed LIMIT. They can be deleted at any time.
"""

import hashlib
import json
import logging
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays
from qkv.engine.library import CACHE, cache_folder
from qkv.engine.memory import up_to_line
from qkv.engine.packing import MemoryStore, Packed, Wanted, Weights

MAGIC = b"QKVPACK1"
VERSION = 1  # of the packed layout: raise it whenever packing.py or rounding.py gives other arrays
PAGE = 4096
PART = 8 << 20  # bytes that are hashed at once, by one thread
LEAST = 4_000_000  # values: smaller models are packed faster than a file is opened
LIMIT = 4 << 30  # bytes of all files
LONGEST_HEADER = 1 << 24
HASHERS = 4  # threads that check a file
LOG = logging.getLogger(__name__)


class DamagedError(Exception):
    """A packed file that cannot be used; the message says why."""


def pack(
    layout: Callable[..., Packed], config: Any, weights: Weights, *, int8: bool, **options: Any
) -> Packed:
    """Pack weights, or open the packed file of a bundle's int8 weights."""
    if not (int8 and isinstance(weights, StoredArrays) and is_large(weights)):
        return layout(config, weights, MemoryStore(), int8=int8, **options)
    key = key_of(weights, config, options)
    try:
        path = cache_folder() / f"packed-{key[:32]}.bin"
    except RuntimeError:  # the user has no home
        return layout(config, weights, MemoryStore(), int8=True, **options)
    if path.exists():
        try:
            file = PackedFile.open(path, key, weights)
            return layout(config, Unverified(weights), file, int8=True, **options)
        except (DamagedError, OSError) as error:
            warn_once(f"packing the weights again: {path} {error}.")
    store = RecordingStore(weights)
    packed = layout(config, weights, store, int8=True, **options)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        store.write(path, key)
        delete_unused(path.parent, path)
    except OSError as error:
        warn_once(
            f"the packed weights cannot be stored in {path.parent} ({error.strerror or error}), so every start takes "
            f"longer. Set {CACHE} to a folder with enough space."
        )
    return packed


@cache
def warn_once(message: str) -> None:
    LOG.warning("%s", message)


def is_large(weights: StoredArrays) -> bool:
    return sum(prod(shape) for shape in weights.shapes.values()) >= LEAST


def key_of(weights: StoredArrays, config: Any, options: Mapping[str, Any]) -> str:
    parts = (VERSION, weights.content_hash, repr(config), sorted(options.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class Unverified(Mapping[str, NDArray[Any]]):
    """The weights of a bundle whose content is not checked as a whole, because the packed file vouches for them."""

    def __init__(self, weights: StoredArrays):
        self.weights = weights

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.weights.unverified(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.weights)

    def __len__(self) -> int:
        return len(self.weights)


# Writing ---------------------------------------------------------------------------------------------------------


class RecordingStore(MemoryStore):
    """Packs into memory, and remembers the arrays for the file."""

    def __init__(self, weights: StoredArrays) -> None:
        super().__init__()
        self.weights = weights
        self.packed: dict[str, NDArray[Any]] = {}
        self.tables: dict[str, str] = {}

    def arrays(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[NDArray[Any]]:
        found = super().arrays(wanted, fill)
        self.packed |= {each.name: array for each, array in zip(wanted, found, strict=True)}
        return found

    def check(self, name: str, array: NDArray[Any]) -> None:
        super().check(name, array)
        self.tables[name] = self.weights.hash_of(name)

    def write(self, path: Path, key: str) -> None:
        """Write the file under another name first: other processes see all of it or nothing."""
        handle, name = tempfile.mkstemp(prefix=".packed-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                for part in self.content(key):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):  # free the space: the disk may be full
                os.unlink(name)
            raise

    def content(self, key: str) -> Iterator[Any]:
        offset, entries = 0, {}
        for name, array in self.packed.items():
            entries[name] = [array.dtype.str, array.shape, offset]
            offset += up_to_line(array.nbytes)
        header = {
            "key": key,
            "arrays": entries,
            "tables": self.tables,
            "size": offset,
            "hashes": self.hashes(),
        }
        described = json.dumps(header).encode()
        start = MAGIC + len(described).to_bytes(8, "little") + hashlib.sha256(described).digest() + described
        yield start + bytes(-len(start) % PAGE)
        yield from self.data()

    def data(self) -> Iterator[Any]:
        for array in self.packed.values():
            yield array.data
            yield bytes(up_to_line(array.nbytes) - array.nbytes)

    def hashes(self) -> list[str]:
        """Hashes of every PART bytes of the data."""
        found, digest, room = [], hashlib.sha256(), PART
        for each in self.data():
            left = memoryview(each).cast("B")
            while left:
                digest.update(left[:room])
                taken = min(room, len(left))
                left, room = left[taken:], room - taken
                if not room:
                    found.append(digest.hexdigest())
                    digest, room = hashlib.sha256(), PART
        return found if room == PART else [*found, digest.hexdigest()]


def delete_unused(folder: Path, newest: Path) -> None:
    """Keep the files that were used last, as many as fit into LIMIT, and this one."""
    files = []
    for path in folder.glob("packed-*.bin"):
        with suppress(OSError):  # another process may be deleting it
            files.append((path == newest, path.stat().st_mtime, path.stat().st_size, path))
    room = LIMIT
    for is_newest, _, size, path in sorted(files, reverse=True):
        room -= size
        if room < 0 and not is_newest:
            with suppress(OSError):
                path.unlink()


def array_hash(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


# Reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackedFile:
    """A packed file as a store of arrays."""

    arrays_of: Mapping[str, NDArray[Any]]
    tables: Mapping[str, str]
    weights: StoredArrays

    @classmethod
    def open(cls, path: Path, key: str, weights: StoredArrays) -> "PackedFile":
        """Map the file and check all of its content."""
        try:
            with open(path, "rb") as file:
                whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            header, start = read_header(whole, key)
            data = np.frombuffer(whole, np.uint8, header["size"], start)
            check_hashes(data, header["hashes"])
            arrays = {name: array_at(data, *entry) for name, entry in header["arrays"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError("is damaged") from error
        with suppress(OSError):  # a folder that cannot be written to
            os.utime(path)  # it was used last
        return cls(arrays, header["tables"], weights)

    def arrays(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[NDArray[Any]]:
        found = [self.arrays_of.get(each.name) for each in wanted]
        for each, array in zip(wanted, found, strict=True):
            if array is None or array.shape != each.shape or array.dtype != each.dtype:
                raise DamagedError(f"has no array {each.name} of this form")
        return [array for array in found if array is not None]

    def check(self, name: str, array: NDArray[Any]) -> None:
        if self.tables.get(name) != self.weights.hash_of(name):
            raise DamagedError("does not belong to these embeddings")


def read_header(whole: mmap.mmap, key: str) -> tuple[dict[str, Any], int]:
    """The header, and where the data begins."""
    length = int.from_bytes(whole[8:16], "little")
    described = whole[48 : 48 + min(length, LONGEST_HEADER)]
    if whole[:8] != MAGIC or hashlib.sha256(described).digest() != whole[16:48]:
        raise ValueError("another format, or a damaged header")
    header: dict[str, Any] = json.loads(described)
    if header["key"] != key:
        raise ValueError("the weights of another model")
    return header, -(-(48 + length) // PAGE) * PAGE


def array_at(data: NDArray[np.uint8], dtype: str, shape: Sequence[int], offset: int) -> NDArray[Any]:
    size = prod(shape) * np.dtype(dtype).itemsize
    return data[offset : offset + size].view(dtype).reshape(shape)


def check_hashes(data: NDArray[np.uint8], hashes: Sequence[str]) -> None:
    """Compare the data with the hash of every part; hashing releases the GIL."""
    parts = [data[start : start + PART] for start in range(0, len(data), PART)]
    with ThreadPoolExecutor(min(HASHERS, len(parts) or 1)) as pool:
        if list(pool.map(array_hash, parts)) != list(hashes):
            raise ValueError("the content does not match its hash")
