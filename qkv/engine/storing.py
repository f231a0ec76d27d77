"""Writes packed files; `packed_file.py` describes and reads them."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays
from qkv.engine import packed_file
from qkv.engine.image import Area, Image
from qkv.engine.library import ModelStruct
from qkv.engine.memory import up_to_line
from qkv.engine.packing import MemoryStore, Wanted


class RecordingStore(MemoryStore):
    """Packs into memory, and remembers the arrays for the file."""

    def __init__(self, weights: StoredArrays) -> None:
        super().__init__()
        self.weights = weights
        self.packed: list[NDArray[Any]] = []
        self.tables: dict[str, str] = {}

    def arrays(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[NDArray[Any]]:
        found = super().arrays(wanted, fill)
        self.packed += found
        return found

    def may_stay(self, name: str, array: NDArray[Any]) -> bool:
        """Only arrays that are mapped from the bundle: numbers that were widened or aligned are copies."""
        start = self.weights.address
        if not start <= array.ctypes.data < start + len(self.weights.map):
            return False
        self.tables[name] = self.weights.hash_of(name)
        return super().may_stay(name, array)

    def write(self, path: Path, key: str, model: ModelStruct) -> None:
        """Write the file under another name first: other processes see all of it or nothing."""
        handle, name = tempfile.mkstemp(prefix=".packed-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                for part in self.content(key, model):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):  # free the space: the disk may be full
                os.unlink(name)
            raise

    def content(self, key: str, model: ModelStruct) -> Iterator[Any]:
        areas = [Area(packed_file.WEIGHTS, self.weights.address, len(self.weights.map))]
        size = 0
        for array in self.packed:
            areas.append(Area(packed_file.DATA, array.ctypes.data, array.nbytes, size))
            size += up_to_line(array.nbytes)
        image = Image.of(model, areas)
        header = {
            "key": key,
            "image": image.content.hex(),
            "pointers": image.pointers,
            "tables": self.tables,
            "size": size,
            "hashes": self.hashes(),
        }
        described = json.dumps(header).encode()
        start = packed_file.MAGIC + len(described).to_bytes(8, "little")
        start += hashlib.sha256(described).digest() + described
        yield start + bytes(-len(start) % packed_file.PAGE)
        yield from self.data()

    def data(self) -> Iterator[Any]:
        for array in self.packed:
            yield array.data
            yield bytes(up_to_line(array.nbytes) - array.nbytes)

    def hashes(self) -> list[str]:
        """Hashes of every PART bytes of the data."""
        part = packed_file.PART
        found, digest, room = [], hashlib.sha256(), part
        for each in self.data():
            left = memoryview(each).cast("B")
            while left:
                digest.update(left[:room])
                taken = min(room, len(left))
                left, room = left[taken:], room - taken
                if not room:
                    found.append(digest.hexdigest())
                    digest, room = hashlib.sha256(), part
        return found if room == part else [*found, digest.hexdigest()]
