"""Encode many texts in batches, with the fastest backend of this machine."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qkv.data.batching import pad_rows
from qkv.engine import NoEngineError
from qkv.engine.texts import TextEngine
from qkv.errors import UserError
from qkv.families.bert.model import Encoder
from qkv.families.bert.options import Pooling
from qkv.runtime.compute import WITHOUT_ENGINE, Compute, arrays_of, silent
from qkv.runtime.rounded import round_layers

BATCH_TOKENS = 4_096  # states held at once


@dataclass(frozen=True)
class Row:
    """A text or a pair of texts as model input."""

    ids: list[int]
    segments: list[int]


class Encoding:
    """Runs an encoder: by the engine on a CPU with a compiler, otherwise by torch."""

    def __init__(self, encoder: Encoder, compute: Compute = "float32", warn: Callable[[str], None] = silent):
        self.encoder, self.compute = encoder.eval(), compute
        self.device = encoder.tokens.weight.device
        self.engine = self.engine_if_possible(warn)
        self.plain = encoder if self.engine else by_torch(encoder, compute)

    def engine_if_possible(self, warn: Callable[[str], None]) -> TextEngine | None:
        if self.device.type != "cpu" or self.compute == "bf16":
            return None
        try:
            return TextEngine(
                self.encoder.config,
                arrays_of(self.encoder),
                int8=self.compute == "int8",
                threads=torch.get_num_threads(),
                prefix="",
            )
        except NoEngineError as error:
            warn(f"encoding without {WITHOUT_ENGINE}: {error}.")
            return None

    def pooled(
        self, rows: Sequence[Row], pooling: Pooling, done: Callable[[int], None] = lambda count: None
    ) -> Tensor:
        """A vector for each row, in order."""
        longest = max((len(row.ids) for row in rows), default=0)
        if longest > self.encoder.config.max_length:
            raise UserError(
                f"a text has {longest} tokens, and the model reads at most {self.encoder.config.max_length}."
            )
        found, order = [torch.empty(0, self.encoder.config.stack.width)], list[int]()
        for batch in batches([len(row.ids) for row in rows]):
            found.append(self.vectors([rows[index] for index in batch], pooling))
            order += batch
            done(len(batch))
        if len(rows) == 1:  # the fast path of a single text
            return found[1]
        return torch.cat(found)[torch.tensor(order, dtype=torch.long).argsort()]

    def vectors(self, rows: Sequence[Row], pooling: Pooling) -> Tensor:
        """Vectors of one batch.  (rows, D)"""
        if self.engine is not None:
            return torch.from_numpy(self.engine(*concatenate(rows), pooling))
        return pooled_by_torch(self.states(rows), [len(row.ids) for row in rows], pooling).float().cpu()

    def states(self, rows: Sequence[Row]) -> Tensor:
        """States of all tokens, one row after another.  (N, D)"""
        if self.engine is None:
            return self.states_by_torch(rows)
        return torch.from_numpy(self.engine(*concatenate(rows)))

    @torch.inference_mode()
    def states_by_torch(self, rows: Sequence[Row]) -> Tensor:
        pad = self.encoder.config.pad
        ids = pad_rows([row.ids for row in rows], pad).to(self.device)
        segments = pad_rows([row.segments for row in rows], 0).to(self.device)
        x = self.plain(ids, segments)
        return torch.cat([x[number, : len(row.ids)] for number, row in enumerate(rows)])


def by_torch(encoder: Encoder, compute: Compute) -> Encoder:
    """The encoder itself, or a copy in another number format."""
    if compute == "float32":
        return encoder
    encoder = copy.deepcopy(encoder)
    if compute == "bf16":
        return encoder.to(torch.bfloat16)
    if encoder.tokens.weight.device.type != "cpu":
        raise UserError("int8 runs on a CPU only; on other devices use bf16.")
    round_layers(encoder)
    return encoder


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


def pooled_by_torch(states: Tensor, lengths: list[int], pooling: Pooling) -> Tensor:
    """Concatenated states of texts, (N, D), to a vector for each text."""
    parts = states.split(lengths)
    return torch.stack([part.mean(0) if pooling == "mean" else part[0] for part in parts])


def normalize(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale every vector to length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return found
