"""Read and check the header of a safetensors file without torch: names and shapes of its tensors."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.errors import DataError

Shape = tuple[int, ...]

LARGEST_HEADER = 2**24  # bytes; a model of 1,000 blocks needs a sixth of this
MOST_DIMENSIONS = 8
MOST_FAULTS = 12  # listed in one message
BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A tensor in a file: its number format, and where it begins and ends after the header."""

    dtype: str
    shape: Shape
    begin: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Header:
    entries: Mapping[str, Entry]
    metadata: Mapping[str, str]
    size: int  # of the header in bytes, with the 8 bytes of its length

    @property
    def shapes(self) -> dict[str, Shape]:
        return {name: entry.shape for name, entry in self.entries.items()}


def read_header(path: Path) -> Header:
    """The file begins with the length of the header in 8 bytes, little-endian; the header is JSON."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            size = path.stat().st_size - 8 - length
            if size < 0 or length > LARGEST_HEADER:
                raise ValueError("its header is too long")
            return parse_header(file.read(length), size)
    except FileNotFoundError:
        raise DataError(f"{path} is missing.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged ({error}). Restore it from a copy or train again.") from None


def parse_header(content: bytes, size: int) -> Header:
    """The tensors must fill the `size` bytes after the header without gaps or overlaps."""
    entries = json.loads(content, object_pairs_hook=object_of)
    if not isinstance(entries, dict):
        raise ValueError("its header is not a JSON object")
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata are not strings")
    parsed = {name: parse_entry(name, entry) for name, entry in entries.items()}
    at = 0
    for begin, end in sorted((entry.begin, entry.end) for entry in parsed.values()):
        if begin != at:
            raise ValueError("its tensors overlap or leave gaps")
        at = end
    if at != size:
        raise ValueError(f"its tensors need {at} bytes, but it has {size}")
    return Header(entries=parsed, metadata=metadata, size=8 + len(content))


def parse_entry(name: str, entry: Any) -> Entry:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"its entry for {name[:80]!r} is not a tensor")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BYTES:
        raise ValueError(f"{name[:80]!r} has an unknown number format")
    if not are_sizes(shape) or len(shape) > MOST_DIMENSIONS or not are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"{name[:80]!r} has an invalid shape or offset")
    if offsets[1] - offsets[0] != math.prod(shape) * BYTES[dtype]:
        raise ValueError(f"the size of {name[:80]!r} does not match its shape")
    return Entry(dtype, tuple(shape), *offsets)


def are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate names: JSON allows them, and readers differ in which one they use."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("its header has a name twice")
    return found


def check_shapes(wanted: Iterable[tuple[str, Shape]], found: Mapping[str, Shape], where: str) -> None:
    """Compare the tensors that a config describes with those in a file.

    One message lists all faults, up to a limit. A tampered config may describe billions of tensors, so this stops
    reading `wanted` after that many faults.
    """
    faults, known = [], set()
    for name, shape in wanted:
        known.add(name)
        if name not in found:
            faults.append(f"{name} is missing")
        elif found[name] != shape:
            faults.append(f"{name} has shape {found[name]} instead of {shape}")
        if len(faults) >= MOST_FAULTS:
            faults.append("…")
            break
    else:
        faults += [f"{name[:80]} is unknown" for name in found if name not in known][:MOST_FAULTS]
    if faults:
        raise DataError(f"{where}: the weights do not fit the config: {'; '.join(faults)}.")
