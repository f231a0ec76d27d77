"""Read CTranslate2's model.bin. It is untrusted: every count and size is checked against the file before use.

The file is a header (version, name of the model, its revision), the variables with their shapes and types, and aliases:
second names of variables. Weights in int8 and int16 are followed by a scale, one for each row or one for all.
"""

import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qkv.errors import DataError

NEWEST, OLDEST = 6, 2  # versions of the file; the first had other names for all variables
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")  # by their numbers in the file
SIZES = {"float32": 4, "int8": 1, "int16": 2, "int32": 4, "float16": 2, "bfloat16": 2}
TYPE_OF_SIZE = {4: "float32", 2: "int16", 1: "int8"}  # before version 4
ROUNDED = ("int8", "int16")
MOST_DIMENSIONS = 8
SHORTEST_VARIABLE, SHORTEST_ALIAS = 9, 4  # bytes


@dataclass(frozen=True, kw_only=True)
class Variable:
    type: str
    shape: tuple[int, ...]
    begin: int  # byte of the file
    size: int  # bytes

    @property
    def is_weight(self) -> bool:
        return len(self.shape) > 1


class Cursor:
    """Reads forward in a file. Reading past its end is an error."""

    def __init__(self, data: mmap.mmap, where: str):
        self.data, self.where, self.place = data, where, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.place

    def skip(self, size: int, what: str) -> int:
        """The place before the next `size` bytes."""
        if size > self.left:
            raise DataError(
                f"{self.where} is damaged: {what} needs {size:,} bytes, but only {self.left:,} are left in the file. "
                "Download it again."
            )
        begin = self.place
        self.place += size
        return begin

    def number(self, format: str, what: str) -> int:
        (found,) = struct.unpack_from(f"<{format}", self.data, self.skip(struct.calcsize(f"<{format}"), what))
        return int(found)

    def text(self, what: str) -> str:
        size = self.number("H", what)
        begin = self.skip(size, what)
        try:
            return self.data[begin : begin + size].rstrip(b"\0").decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{self.where} is damaged: {what} is not text. Download it again.") from None

    def count(self, what: str, shortest: int) -> int:
        found = self.number("I", f"the number of {what}")
        if found * shortest > self.left:
            raise DataError(
                f"{self.where} is damaged: it claims {found:,} {what}, but only {self.left:,} bytes are left in the file."
            )
        return found


class Stored:
    """The variables of a model.bin by name. It remembers which were read, because the others are not supported."""

    def __init__(self, path: Path):
        self.where = str(path)
        self.data = mapped(path)
        cursor = Cursor(self.data, self.where)
        self.version = cursor.number("I", "the version")
        check_version(self.version, self.where)
        self.spec = cursor.text("the name of the model")
        self.revision = cursor.number("I", "the revision of the model")
        self.variables = dict(read_variables(cursor, self.version))
        self.aliases = dict(read_aliases(cursor, self.variables)) if self.version >= 3 else {}
        if cursor.left:
            raise DataError(f"{self.where} is damaged: {cursor.left:,} bytes follow its last entry.")
        self.used: set[str] = set()

    def has(self, name: str) -> bool:
        return name in self.variables or name in self.aliases

    def original(self, name: str) -> str:
        """The name under which the values are stored."""
        return self.aliases.get(name, name)

    def find(self, name: str) -> Variable:
        self.used |= {name, self.original(name)}
        found = self.variables.get(self.original(name))
        if found is None:
            raise DataError(f"{self.where} has no variable {name}.")
        return found

    def scalar(self, name: str, default: float) -> float:
        """A number; whether something holds is 0 or 1."""
        if not self.has(name):
            return default
        found = self.find(name)
        if math.prod(found.shape) != 1:
            raise DataError(f"{self.where}: {name} should be one number, but has the shape {found.shape}.")
        return float(self.floats(found).reshape(()))

    def is_text(self, name: str) -> bool:
        return self.has(name) and self.variables[self.original(name)].type == "int8"

    def text(self, name: str, default: str) -> str:
        if not self.is_text(name):
            return default
        found = self.find(name)
        return self.data[found.begin : found.begin + found.size].decode("utf-8", "replace")

    def shape(self, name: str) -> tuple[int, ...]:
        return self.find(name).shape

    def tensor(self, name: str) -> Tensor:
        """A weight in float32. Rounded weights are divided by their scale."""
        found = self.find(name)
        values = self.floats(found)
        if found.type in ROUNDED:
            values = values / self.scale_of(name, found)
        if not np.isfinite(values).all():
            raise DataError(f"{self.where}: {name} has values that are not finite.")
        return torch.from_numpy(np.ascontiguousarray(values))

    def scale_of(self, name: str, weight: Variable) -> Any:
        scale_name = f"{self.original(name)}_scale"
        if not self.has(scale_name):
            raise DataError(f"{self.where}: {name} is in {weight.type} without {name}_scale.")
        scale = self.find(scale_name)
        self.used.add(f"{name}_scale")
        if scale.type in ROUNDED or scale.shape not in ((), (1,), weight.shape[:1]):
            raise DataError(
                f"{self.where}: {scale_name} has the shape {scale.shape} in {scale.type}, which does not fit {weight.shape}."
            )
        values = self.floats(scale)
        if not (np.isfinite(values) & (values != 0)).all():
            raise DataError(f"{self.where}: {scale_name} has values that are zero or not finite.")
        return values.reshape(-1, *[1] * (len(weight.shape) - 1)) if values.size > 1 else values.reshape(())

    def floats(self, found: Variable) -> Any:
        """The values as a new array in float32."""
        count = math.prod(found.shape)
        kind = "uint16" if found.type == "bfloat16" else found.type
        stored = np.frombuffer(self.data, np.dtype(kind).newbyteorder("<"), count, found.begin)
        if found.type == "bfloat16":  # the first half of a float32
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        return stored.astype(np.float32).reshape(found.shape)

    def unread(self) -> list[str]:
        return sorted({*self.variables, *self.aliases} - self.used)

    def number_formats(self) -> list[str]:
        """The formats of the weights, the most frequent first."""
        sizes: dict[str, int] = {}
        for each in self.variables.values():
            if each.is_weight:
                sizes[each.type] = sizes.get(each.type, 0) + math.prod(each.shape)
        return sorted(sizes, key=lambda kind: -sizes[kind])


def mapped(path: Path) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise DataError(f"{path} cannot be read ({error}).") from None


def check_version(version: int, where: str) -> None:
    if not 1 <= version <= 99:
        raise DataError(f"{where} is not a model of CTranslate2, or it is damaged.")
    if version > NEWEST:
        raise DataError(
            f"{where} has version {version} of CTranslate2's format, but this version of qkv reads up to {NEWEST}. Update qkv, "
            "or convert the model with an older CTranslate2."
        )
    if version < OLDEST:
        raise DataError(
            f"{where} has version {version} of CTranslate2's format, which qkv does not read. Convert the original model again."
        )


def read_variables(cursor: Cursor, version: int) -> Iterator[tuple[str, Variable]]:
    seen = set()
    for _ in range(cursor.count("variables", SHORTEST_VARIABLE)):
        name = cursor.text("the name of a variable")
        if name in seen:
            raise DataError(f"{cursor.where} is damaged: the variable {name} occurs twice.")
        seen.add(name)
        yield name, read_variable(cursor, version, name)


def read_variable(cursor: Cursor, version: int, name: str) -> Variable:
    rank = cursor.number("B", name)
    if rank > MOST_DIMENSIONS:
        raise DataError(f"{cursor.where} is damaged: {name} has {rank} dimensions.")
    shape = tuple(cursor.number("I", name) for _ in range(rank))
    number, size = cursor.number("B", name), cursor.number("I", name)
    if version >= 4:
        kind = TYPES[number] if number < len(TYPES) else None
    else:
        kind, size = TYPE_OF_SIZE.get(number), size * number
    if kind is None:
        raise DataError(f"{cursor.where}: {name} has a number format that qkv does not know ({number}).")
    needed = math.prod(shape) * SIZES[kind]
    if needed != size:
        raise DataError(
            f"{cursor.where} is damaged: {name} has the shape {shape} in {kind}, which needs {needed:,} bytes, but {size:,} are "
            "stored."
        )
    return Variable(type=kind, shape=shape, begin=cursor.skip(size, name), size=size)


def read_aliases(cursor: Cursor, variables: Mapping[str, Variable]) -> Iterator[tuple[str, str]]:
    for _ in range(cursor.count("aliases", SHORTEST_ALIAS)):
        alias, name = cursor.text("an alias"), cursor.text("the name behind an alias")
        if name not in variables or alias in variables:
            raise DataError(
                f"{cursor.where} is damaged: {alias} should be another name of {name}, which it cannot be."
            )
        yield alias, name
