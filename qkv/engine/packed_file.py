"""Packed weights in a file, so that a model is packed once and then opens quickly.

A file in the cache folder holds the int8 weights of one model as the compiled library reads them. Processes map it and share
its pages. It is found by the hash of the weights, which the bundle states, and is checked completely whenever it is opened.
So it does not matter whether the bundle has been copied, moved or touched. The weights in the bundle are compared with that hash
if their file is not one that was compared before (`verified.py`). Embeddings need no packing: they are mapped from the bundle,
and the file holds their hash. Opening a file needs no NumPy.

If there is no file, or it is damaged, the weights are read and checked as usual, packed, and the file is written again.

    8 bytes   MAGIC
    8 bytes   length of the header, little-endian
    32 bytes  sha256 of the header
    header    JSON: key, image (the model's structures), pointers, tables (name -> sha256), size and hashes of the data
    data      from the next multiple of PAGE; every array begins on a cache line

The least recently used files are deleted when all together exceed LIMIT. They can be deleted at any time.
"""

import ctypes
import hashlib
import json
import logging
import mmap
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qkv.checkpoint.arrays import StoredArrays
from qkv.engine.image import Image, PackedModel
from qkv.engine.library import CACHE, ModelStruct, cache_folder
from qkv.engine.verified import note_of, verify_if_changed

if TYPE_CHECKING:
    from qkv.engine.packing import MemoryStore

MAGIC = b"QKVPACK2"
VERSION = 3  # of the packed layout: raise it whenever packing.py or rounding.py gives other arrays
PAGE = 4096
PART = 8 << 20  # bytes that are hashed at once, by one thread
LEAST = 100_000  # values: smaller models are not worth a file
LIMIT = 4 << 30  # bytes of all files
LONGEST_HEADER = 1 << 24
HASHERS = 4  # threads that check a file
DATA, WEIGHTS = "data", "weights"  # areas that an image points to
Layout = Literal["translator", "gpt", "encoder"]  # methods of qkv.engine.packing.Packed
LOG = logging.getLogger(__name__)


class DamagedError(Exception):
    """A packed file that cannot be used; the message says why."""


def pack(
    layout: Layout, config: Any, weights: Mapping[str, Any], *, int8: bool, **options: Any
) -> PackedModel:
    """Pack weights, or open the packed file of a bundle's int8 weights."""
    if not (int8 and isinstance(weights, StoredArrays) and is_large(weights)):
        return pack_in_memory(layout, config, weights, int8=int8, **options)
    key = key_of(layout, weights, config, options)
    try:
        path = cache_folder() / f"packed-{key[:32]}.bin"
    except RuntimeError:  # the user has no home
        return pack_in_memory(layout, config, weights, int8=True, **options)
    if path.exists():
        try:
            opened = open_file(path, key, weights)
            verify_if_changed(path, weights)
            return opened
        except (DamagedError, OSError) as error:
            warn_once(f"packing the weights again: {path} {error}.")
    from qkv.engine.storing import RecordingStore  # imports NumPy

    store = RecordingStore(weights)
    packed = pack_into(store, layout, config, weights, int8=True, **options)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        store.write(path, key, packed.struct)
        verify_if_changed(path, weights)
        delete_unused(path.parent, path)
    except OSError as error:
        warn_once(
            f"the packed weights cannot be stored in {path.parent} ({error.strerror or error}), so every start takes "
            f"longer. Set {CACHE} to a folder with enough space."
        )
    return packed


def pack_in_memory(layout: Layout, config: Any, weights: Mapping[str, Any], **options: Any) -> PackedModel:
    from qkv.engine.packing import MemoryStore

    return pack_into(MemoryStore(), layout, config, weights, **options)


def pack_into(
    store: "MemoryStore", layout: Layout, config: Any, weights: Mapping[str, Any], **options: Any
) -> PackedModel:
    from qkv.engine.packing import Packed

    packed: PackedModel = getattr(Packed, layout)(config, weights, store, **options)
    return packed


@cache
def warn_once(message: str) -> None:
    LOG.warning("%s", message)


def is_large(weights: StoredArrays) -> bool:
    return sum(prod(shape) for shape in weights.shapes.values()) >= LEAST


def key_of(layout: Layout, weights: StoredArrays, config: Any, options: Mapping[str, Any]) -> str:
    form = (VERSION, layout, ctypes.sizeof(ModelStruct))
    parts = (form, weights.content_hash, repr(config), sorted(options.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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
                note_of(path).unlink(missing_ok=True)


# Reading ---------------------------------------------------------------------------------------------------------


def open_file(path: Path, key: str, weights: StoredArrays) -> PackedModel:
    """Map a packed file and check all of its content."""
    return_free_memory()
    try:
        with open(path, "rb") as file:
            # A private copy: ctypes takes the address of writable memory only. No page is ever written.
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        header, start = read_header(whole, key)
        end = start + header["size"]
        if end > len(whole):
            raise ValueError("it is too short")
        check_hashes(memoryview(whole)[start:end], header["hashes"])
        image = Image(bytes.fromhex(header["image"]), header["pointers"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError("is damaged") from error
    for name, known in header["tables"].items():
        if known != weights.hash_of(name):
            raise DamagedError("does not belong to these embeddings")
    with suppress(OSError):  # a folder that cannot be written to
        os.utime(path)  # it was used last
    data = ctypes.addressof(ctypes.c_char.from_buffer(whole)) + start
    return image.open({DATA: data, WEIGHTS: weights.address}, [whole, weights.map])


def return_free_memory() -> None:
    """Give freed memory back to the system, where the C library can. Reading a vocabulary needs several times its size for a moment."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


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


def check_hashes(data: memoryview, hashes: Sequence[str]) -> None:
    """Compare the data with the hash of every part."""
    parts = [data[start : start + PART] for start in range(0, len(data), PART)]
    if found_hashes(parts) != list(hashes):
        raise ValueError("the content does not match its hash")


def found_hashes(parts: Sequence[memoryview]) -> list[str]:
    if len(parts) <= 1:
        return [*map(hash_of, parts)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(HASHERS, len(parts))) as pool:  # hashing releases the GIL
        return list(pool.map(hash_of, parts))


def hash_of(part: memoryview) -> str:
    return hashlib.sha256(part).hexdigest()
