"""Weights as NumPy arrays: mapped from a safetensors file, checked against its hash, read when they are needed.

NumPy is imported with the first array: a model whose packed weights are stored needs none.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qkv.checkpoint.files import HASH, write_file
from qkv.checkpoint.header import Entry, Shape, read_header
from qkv.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READ = 1 << 20  # bytes that are in memory while they are hashed
# Number formats of safetensors, in NumPy and as the hash names them. NumPy has no bfloat16: its bits are widened.
FORMATS = {
    "BOOL": ("bool", "torch.bool"), "U8": ("uint8", "torch.uint8"), "I8": ("int8", "torch.int8"),
    "U16": ("uint16", "torch.uint16"), "I16": ("int16", "torch.int16"), "F16": ("float16", "torch.float16"),
    "BF16": ("uint16", "torch.bfloat16"), "U32": ("uint32", "torch.uint32"), "I32": ("int32", "torch.int32"),
    "F32": ("float32", "torch.float32"), "U64": ("uint64", "torch.uint64"), "I64": ("int64", "torch.int64"),
    "F64": ("float64", "torch.float64"),
}  # fmt: skip
NAMES = {numpy: torch for numpy, torch in FORMATS.values() if torch != "torch.bfloat16"}


class StoredArrays(Mapping[str, "NDArray[Any]"]):
    """The arrays of a file. The header is checked now, and the content before the first array is handed out.

    The file is mapped, so only the parts that are used take memory, and processes share them. Arrays may be changed;
    the file does not.
    """

    def __init__(self, path: Path):
        self.path, self.header = path, read_header(path)
        self.verified = False
        try:
            with open(path, "rb") as file:
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError) as error:
            raise damaged(path, str(error)) from None

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.verify()
        return self.unverified(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.header.entries)

    def __len__(self) -> int:
        return len(self.header.entries)

    @property
    def shapes(self) -> dict[str, Shape]:
        return self.header.shapes

    @property
    def address(self) -> int:
        """Where the file is mapped."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    @property
    def content_hash(self) -> str:
        """The hash that the file states. `verify` compares it with the content."""
        return self.header.metadata.get(HASH, "")

    def verify(self) -> None:
        """Compare the content with its hash, once. The memory it needs is given back part by part."""
        if self.verified:
            return
        digest = hashlib.sha256()
        for name, entry in sorted(self.header.entries.items()):
            digest.update(f"{name} {FORMATS[entry.dtype][1]} {entry.shape}\n".encode())
            self.update(digest, entry)
        if digest.hexdigest() != self.content_hash:
            raise damaged(self.path, "its content does not match its hash")
        self.verified = True

    def hash_of(self, name: str) -> str:
        """The sha256 of one array's bytes in the file."""
        digest = hashlib.sha256()
        self.update(digest, self.header.entries[name])
        return digest.hexdigest()

    def update(self, digest: Any, entry: Entry) -> None:
        view = memoryview(self.map)
        for start in range(self.header.size + entry.begin, self.header.size + entry.end, READ):
            digest.update(view[start : min(start + READ, self.header.size + entry.end)])
            first = start // mmap.PAGESIZE * mmap.PAGESIZE
            self.release(first, min(first + 2 * READ, len(view)) - first)

    def unverified(self, name: str) -> NDArray[Any]:
        """An array for callers that check its content themselves."""
        import numpy as np

        entry = self.header.entries[name]
        dtype = np.dtype(FORMATS[entry.dtype][0])
        start = self.header.size + entry.begin
        found = np.frombuffer(self.map, dtype, (entry.end - entry.begin) // dtype.itemsize, start)
        return (widened(found) if entry.dtype == "BF16" else aligned(found)).reshape(entry.shape)

    def numbers(self, name: str, typecode: str) -> array[Any]:
        """The content of an array for callers without NumPy, as Python's own array. The file must be verified."""
        entry, found = self.header.entries[name], array(typecode)
        found.frombytes(self.map[self.header.size + entry.begin : self.header.size + entry.end])
        return found

    def release(self, *part: int) -> None:
        """Give back the memory of what was read, all or a start and a length; it is read again when it is needed.

        Changes to arrays are lost.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            with suppress(OSError):
                self.map.madvise(mmap.MADV_DONTNEED, *part)


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """A bfloat16 is the upper half of a float32."""
    import numpy as np

    return (bits.astype(np.uint32) << 16).view(np.float32)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Files of other programs may start their numbers anywhere."""
    return array if array.flags.aligned else array.copy()


def damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{path} is damaged ({reason}). Restore it from a copy or train again.")


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays, or tensors of torch. Safetensors detects a truncated file but not a changed bit, so this adds a hash."""
    write_file(path, arrays_content(arrays))


def arrays_content(arrays: Mapping[str, Any]) -> bytes:
    """The file that `write_arrays` writes."""
    import safetensors.numpy

    complete = {name: as_array(each) for name, each in arrays.items()}
    return safetensors.numpy.save(complete, metadata={HASH: arrays_hash(complete)})


def as_array(weight: Any) -> NDArray[Any]:
    """A NumPy array, also of a tensor, without importing torch."""
    import numpy as np

    array = weight.detach().cpu().numpy() if hasattr(weight, "detach") else weight
    return np.asarray(array, order="C")


def arrays_hash(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The same as `tensors_hash` of equal tensors."""
    import numpy as np

    digest = hashlib.sha256()
    for name, each in sorted(arrays.items()):
        digest.update(f"{name} {NAMES[each.dtype.name]} {each.shape}\n".encode())
        digest.update(np.asarray(each, order="C").reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
