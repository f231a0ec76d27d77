"""Encode many texts in batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qkv.errors import QkvError
from qkv.families.bert.options import Pooling
from qkv.families.bert.runner import TextEncoder

BATCH_TOKENS = 4_096  # states held at once
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Row:
    """A text or a pair of texts as model input."""

    ids: list[int]
    segments: list[int]


def encode_rows(
    encoder: TextEncoder,
    rows: Sequence[Row],
    pooling: Pooling,
    done: Callable[[int], None] = lambda count: None,
) -> Vectors:
    """A vector for each row, in order."""
    longest = max((len(row.ids) for row in rows), default=0)
    if longest > encoder.config.max_length:
        raise QkvError(
            f"a text has {longest} tokens, and the model reads at most {encoder.config.max_length}."
        )
    if len(rows) == 1:  # the fast path of a single text
        done(1)
        return encoder(rows[0].ids, rows[0].segments, [longest], pooling)
    found = np.empty((len(rows), encoder.config.stack.width), np.float32)
    for batch in batches([len(row.ids) for row in rows]):
        found[batch] = encoder(*concatenate([rows[index] for index in batch]), pooling)
        done(len(batch))
    return found


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices in batches of similar length, the longest first, so that running out of memory shows at once."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def concatenate(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    """Ids and segments of all rows, concatenated, and the length of each row."""
    ids = [number for row in rows for number in row.ids]
    segments = [number for row in rows for number in row.segments]
    return ids, segments, [len(row.ids) for row in rows]


def normalize(vectors: Vectors) -> Vectors:
    """Scale every vector to length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Vectors = vectors / np.maximum(lengths, 1e-12)
    return found
