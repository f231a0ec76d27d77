"""Read the weights of Marian: .npz and its own binary format. They are untrusted: all sizes are checked before use.

A binary file is a version, headers (sizes of name, shape and data, and a type), the names, the shapes, a gap and the data.
Matrices in int8 and int16 for intgemm have the factor that they were multiplied with behind their last number, and their
rows are our rows: one for each output.
"""

import math
import mmap
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from torch import Tensor

from qkv.errors import DataError
from qkv.hub.ctranslate2_file import MOST_DIMENSIONS, mapped

VERSION, ENCRYPTED = 1, 2
SETTINGS = "special:model.yml"
HEADER = struct.Struct("<4Q")
MOST_ITEMS, LONGEST_NAME = 100_000, 10_000
INTGEMM_8, INTGEMM_16 = "int8 for intgemm", "int16 for intgemm"
TYPES = {
    0x101: "int8", 0x402: "float16", 0x404: "float32",
    0x4101: INTGEMM_8, 0x4102: INTGEMM_16,  # as Firefox and Bergamot write them
    0x10001: INTGEMM_8, 0x10002: INTGEMM_16,  # as Marian writes them since version 1.11
}  # fmt: skip
STORED_AS = {"int8": "i1", "float16": "<f2", "float32": "<f4", INTGEMM_8: "i1", INTGEMM_16: "<i2"}
LAYOUTS = {0x800: "packed for FBGEMM", 0x1000: "packed for AVX2", 0x2000: "packed for AVX-512"}
ROUNDED = {INTGEMM_8: "int8", INTGEMM_16: "int16"}


@dataclass(frozen=True, kw_only=True)
class Item:
    type: str
    shape: tuple[int, ...]
    begin: int  # byte of the file
    size: int  # bytes

    @property
    def count(self) -> int:
        return math.prod(self.shape)


class MarianWeights:
    """The items of a file by name. It remembers which were read, because the others are not supported."""

    def __init__(self, path: Path):
        self.where = str(path)
        self.data = mapped(path)
        is_archive = self.data[:4] == b"PK\x03\x04"
        self.items = dict(
            archive_items(path, self.data) if is_archive else binary_items(self.data, self.where)
        )
        self.used = {SETTINGS}

    def settings(self) -> str:
        """The settings of the model, as YAML."""
        found = self.items.get(SETTINGS)
        if found is None or found.type != "int8":
            raise DataError(f"{self.where} has no {SETTINGS}, so it is not a model of Marian.")
        text = self.data[found.begin : found.begin + found.size].rstrip(b"\0")
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{self.where} is damaged: {SETTINGS} is not text. Download it again.") from None

    def find(self, name: str) -> Item:
        found = self.items.get(name)
        if found is None:
            raise DataError(f"{self.where} has no weight {name}.")
        self.used.add(name)
        return found

    def rows(self, name: str) -> Tensor:
        """A matrix with a row for each token, in float32."""
        return self.matrix(name, self.find(name).shape)

    def linear(self, name: str) -> Tensor:
        """A matrix with a row for each output. Marian has a column for each, unless it is rounded."""
        found = self.find(name)
        if found.type in ROUNDED:
            return self.matrix(name, found.shape[::-1])
        return self.matrix(name, found.shape).T.contiguous()

    def vector(self, name: str) -> Tensor:
        return self.matrix(name, self.find(name).shape).flatten()

    def matrix(self, name: str, shape: tuple[int, ...]) -> Tensor:
        found = self.find(name)
        stored = np.frombuffer(self.data, STORED_AS[found.type], found.count, found.begin)
        values = stored.astype(np.float32)
        if found.type in ROUNDED:
            values /= self.factor(name, found)
        if not np.isfinite(values).all():
            raise DataError(f"{self.where}: {name} has values that are not finite.")
        return torch.from_numpy(values.reshape(shape))

    def factor(self, name: str, found: Item) -> np.float32:
        """What the numbers of a rounded matrix were multiplied with."""
        size = found.count * np.dtype(STORED_AS[found.type]).itemsize
        (factor,) = struct.unpack_from("<f", self.data, found.begin + size)
        if not (math.isfinite(factor) and factor > 0):
            raise DataError(
                f"{self.where} is damaged: {name} was multiplied with {factor:g}. Download it again."
            )
        return np.float32(factor)

    def unread(self) -> list[str]:
        return sorted(set(self.items) - self.used)

    def number_formats(self) -> list[str]:
        """The formats of the matrices, the most frequent first."""
        sizes: dict[str, int] = {}
        for name, each in self.items.items():
            if name != SETTINGS and min(each.shape, default=1) > 1:
                sizes[each.type] = sizes.get(each.type, 0) + each.count
        return [ROUNDED.get(kind, kind) for kind in sorted(sizes, key=lambda kind: -sizes[kind])]


def damaged(where: str, what: str) -> DataError:
    return DataError(f"{where} is damaged: {what}. Download it again.")


# The binary format -----------------------------------------------------------------------------------------------


def binary_items(data: mmap.mmap, where: str) -> Iterator[tuple[str, Item]]:
    size = len(data)
    version, count = struct.unpack_from("<2Q", data) if size >= 16 else (0, 0)
    if version == ENCRYPTED:
        raise DataError(f"{where} is encrypted, and qkv cannot read encrypted models.")
    if not 1 <= version <= 99:
        raise DataError(f"{where} is not a model of Marian, or it is damaged.")
    if version > VERSION:
        raise DataError(
            f"{where} has version {version} of Marian's format, but this version of qkv reads version {VERSION}. Update qkv."
        )
    if count > MOST_ITEMS or 16 + count * HEADER.size > size:
        raise damaged(where, f"it claims {count:,} weights, but has only {size:,} bytes")
    headers = [HEADER.unpack_from(data, 16 + number * HEADER.size) for number in range(count)]
    names, place = read_names(data, headers, 16 + count * HEADER.size, where)
    shapes, place = read_shapes(data, headers, place, where)
    gap = struct.unpack_from("<Q", data, place)[0] if place + 8 <= size else size
    place += 8 + gap
    for (_, number, _, length), name, shape in zip(headers, names, shapes, strict=True):
        if place + length > size:
            raise damaged(where, f"{name} needs {length:,} bytes, but only {max(0, size - place):,} are left")
        yield name, checked_item(number, shape, place, length, f"{where}: {name}")
        place += length
    if place != size:
        raise damaged(where, f"{size - place:,} bytes follow its last weight")


def read_names(
    data: mmap.mmap, headers: list[tuple[Any, ...]], place: int, where: str
) -> tuple[list[str], int]:
    names = []
    for length, *_ in headers:
        if not 0 < length <= LONGEST_NAME or place + length > len(data):
            raise damaged(where, "a name does not fit into it")
        try:
            names.append(data[place : place + length].rstrip(b"\0").decode("utf-8"))
        except UnicodeDecodeError:
            raise damaged(where, "the name of a weight is not text") from None
        place += length
    if len(set(names)) != len(names):
        raise damaged(where, "two weights have the same name")
    return names, place


def read_shapes(
    data: mmap.mmap, headers: list[tuple[Any, ...]], place: int, where: str
) -> tuple[list[tuple[int, ...]], int]:
    shapes = []
    for _, _, rank, _ in headers:
        if rank > MOST_DIMENSIONS or place + 4 * rank > len(data):
            raise damaged(where, "a shape does not fit into it")
        shapes.append(struct.unpack_from(f"<{rank}i", data, place))
        place += 4 * rank
    return shapes, place


def checked_item(number: int, shape: tuple[int, ...], begin: int, size: int, where: str) -> Item:
    """Check that the data have room for the shape; Marian aligns them, so there may be more."""
    kind = TYPES.get(number)
    if kind is None:
        layouts = [name for bit, name in LAYOUTS.items() if number & bit]
        raise DataError(
            f"{where} is {layouts[0]}, an order of the numbers that depends on the processor. Use the model before it was packed."
            if layouts
            else f"{where} has a number format that qkv does not know ({number:#x})."
        )
    needed = math.prod(shape) * np.dtype(STORED_AS[kind]).itemsize + (4 if kind in ROUNDED else 0)
    if min(shape, default=1) < 1 or needed > size or (kind in ROUNDED and len(shape) != 2):
        raise DataError(
            f"{where} is damaged: the shape {shape} in {kind} needs {needed:,} bytes, but {size:,} are stored. Download it again."
        )
    return Item(type=kind, shape=shape, begin=begin, size=size)


# .npz ------------------------------------------------------------------------------------------------------------


def archive_items(path: Path, data: mmap.mmap) -> Iterator[tuple[str, Item]]:
    """The arrays of an archive as Marian and NumPy write it, without compression."""
    seen = set()
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_ITEMS:
                raise damaged(str(path), f"it claims {len(members):,} weights")
            for each in members:
                name = each.filename.removesuffix(".npy")
                if name in seen:
                    raise damaged(str(path), "two weights have the same name")
                seen.add(name)
                yield name, archive_item(archive, each, data, f"{path}: {name}")
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error) as error:
        raise damaged(str(path), f"it is not a complete archive ({error})") from None


def archive_item(archive: zipfile.ZipFile, each: zipfile.ZipInfo, data: mmap.mmap, where: str) -> Item:
    if each.compress_type != zipfile.ZIP_STORED or each.flag_bits & 1:
        raise DataError(f"{where} is compressed or encrypted, which Marian's models are not.")
    with archive.open(each) as file:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = header(file)
        start = file.tell()
    begin = start + place_of(data, each)
    kinds = {np.dtype(stored): kind for kind, stored in STORED_AS.items() if kind not in ROUNDED}
    kind = kinds.get(dtype)
    if kind is None or by_columns:
        raise DataError(f"{where} has a number format that qkv does not know ({dtype}).")
    needed = math.prod(shape) * dtype.itemsize
    if needed != each.file_size - start or len(shape) > MOST_DIMENSIONS:
        raise DataError(
            f"{where} is damaged: the shape {shape} needs {needed:,} bytes, but {each.file_size - start:,} are stored."
        )
    if begin + needed > len(data):
        raise damaged(where, "it ends too early")
    return Item(type=kind, shape=shape, begin=begin, size=needed)


def place_of(data: mmap.mmap, each: zipfile.ZipInfo) -> int:
    """The place of a member's content: behind its own header, its name and extra fields."""
    name, extra = struct.unpack_from("<2H", data, each.header_offset + 26)
    return int(each.header_offset + 30 + name + extra)
