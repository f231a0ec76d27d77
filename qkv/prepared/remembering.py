"""Results of long computations on stored data, kept beside them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays, write_arrays
from qkv.checkpoint.files import bytes_hash, canonical, read_sealed, seal, write_json
from qkv.errors import DataError
from qkv.prepared.parts import reserve

Result = tuple[dict[str, Any], Mapping[str, NDArray[Any]]]
"""Facts, as JSON, and arrays."""


def remember(folder: Path, name: str, key: Mapping[str, Any], compute: Callable[[], Result]) -> Result:
    """The result for this key. It is computed by the first process that needs it, and again if its files are damaged."""
    path = folder / f"{name}-{bytes_hash(canonical(key))[:16]}"
    arrays, record = path.with_suffix(".safetensors"), path.with_suffix(".json")
    with reserve(folder, wait=True):
        try:
            stored = StoredArrays(arrays)
            stored.verify()
            facts = read_sealed(record)
            if facts.pop("arrays") == stored.content_hash:
                return facts, stored
        except DataError:
            pass
        facts, made = compute()
        write_arrays(arrays, made)
        stored = StoredArrays(arrays)
        write_json(record, seal({**facts, "arrays": stored.content_hash}))
        return facts, stored
