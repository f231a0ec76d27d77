"""A packed model as bytes: the structures that the compiled library reads, with pointers that can be stored.

A stored pointer is the name of an area and an offset in it. The areas are the image itself, the packed arrays behind it and
the weights of the bundle. This needs no NumPy, so a stored model opens without importing it.
"""

import ctypes
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from qkv.engine.library import BlockStruct, ModelStruct, Pointer, StackStruct


class PackedModel:
    """A model for the compiled library, and the memory that it points to."""

    def __init__(self, model: ModelStruct, kept: list[Any]):
        self.struct, self.kept = model, kept


class Area(NamedTuple):
    """Memory that pointers may point to: its address and size, and where it is stored."""

    name: str
    address: int
    size: int
    offset: int = 0


@dataclass(frozen=True)
class Image:
    """The bytes of a model's structures; and for each pointer its place, the area it points to, and the offset there."""

    content: bytes
    pointers: Sequence[tuple[int, str, int]]

    @classmethod
    def of(cls, model: ModelStruct, areas: Sequence[Area]) -> "Image":
        """The image of a model whose arrays are in these areas."""
        content, found = bytearray(model), [*pointers_in(model)]
        blocks: list[Area] = []
        for stack in (model.encoder, model.decoder):
            if stack.depth:
                blocks.append(block_area(stack, len(content)))
                for number in range(stack.depth):
                    found += pointers_in(stack.blocks[number], len(content))
                    content += bytes(stack.blocks[number])
        pointers = [(place, *locate(address, [*areas, *blocks])) for place, address in found]
        for place, *_ in pointers:  # equal models have equal images
            struct.pack_into("@P", content, place, 0)
        return cls(bytes(content), pointers)

    def open(self, addresses: Mapping[str, int], kept: Sequence[Any]) -> PackedModel:
        """The model with its areas at these addresses. `kept` owns their memory."""
        content = bytearray(self.content)
        own = ctypes.addressof(ctypes.c_char.from_buffer(content))
        bases = {**addresses, IMAGE: own}
        for place, area, offset in self.pointers:
            struct.pack_into("@P", content, place, bases[area] + offset)
        return PackedModel(ModelStruct.from_buffer(content), [content, *kept])


IMAGE = "image"


def block_area(stack: StackStruct, offset: int) -> Area:
    address = ctypes.addressof(stack.blocks.contents)
    return Area(IMAGE, address, stack.depth * ctypes.sizeof(BlockStruct), offset)


def pointers_in(structure: ctypes.Structure, start: int = 0) -> Iterator[tuple[int, int]]:
    """The place and the value of every pointer that is not null. `start` is the place of the structure."""
    for name, kind, *_ in structure._fields_:
        place, value = start + getattr(type(structure), name).offset, getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            yield from pointers_in(value, place)
        elif kind is Pointer and value:
            yield place, value
        elif kind is ctypes.POINTER(BlockStruct) and value:
            yield place, ctypes.addressof(value.contents)


def locate(address: int, areas: Sequence[Area]) -> tuple[str, int]:
    for area in areas:
        if area.address <= address < area.address + area.size:
            return area.name, area.offset + address - area.address
    raise ValueError("a pointer leads out of the model's memory")
