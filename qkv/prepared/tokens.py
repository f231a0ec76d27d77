"""The tokens of stored pairs, in files beside them: `tokens-KEY/part-00000.safetensors` has the rows of `text-00000`.

source, target              uint16 or uint32   the ids of all sentences one after another
source_ends, target_ends    int64              where each sentence ends
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.files import bytes_hash
from qkv.data.token_rows import Part, TokenRows, flat
from qkv.prepared.pairs import StoredPairs, texts_in
from qkv.prepared.parts import Pace, Parts
from qkv.prepared.place import Say
from qkv.text.vocabulary import Vocabulary

SENTENCES_AT_ONCE = 2_000  # tokenized together, by all cores

SIDES = ("source", "target")


def stored_tokens(pairs: StoredPairs, tokenizer: Vocabulary, say: Say) -> tuple[TokenRows, TokenRows]:
    """The tokens of both sides of all stored pairs. Those that no process has made yet are made now."""
    texts, rows_per_part = pairs.stored.parts, pairs.stored.rows_per_part
    key = bytes_hash(tokenizer.text().encode())[:16]
    tokens = Parts(texts.folder / f"tokens-{key}", "part")
    numbers = range(-(-pairs.stored.total // rows_per_part))
    pace = Pace(say, f"tokenizing: {{:,}} of {pairs.stored.total:,} pairs")

    def make(number: int) -> dict[str, NDArray[Any]]:
        part = texts.open(number)
        pace(number * rows_per_part)
        return token_arrays([texts_in(part, side) for side in SIDES], tokenizer)

    tokens.fill(numbers, make)
    opened = [tokens.open(number) for number in numbers]
    source, target = (
        TokenRows([Part(part[side], part[f"{side}_ends"]) for part in opened]) for side in SIDES
    )
    return source, target


def token_arrays(texts: Sequence[Sequence[str]], tokenizer: Vocabulary) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for side, sentences, vocabulary in zip(SIDES, texts, (tokenizer, tokenizer.target), strict=True):
        ids, lengths = [], []
        for start in range(0, len(sentences), SENTENCES_AT_ONCE):
            rows = vocabulary.encode_all(sentences[start : start + SENTENCES_AT_ONCE])
            ids.append(flat(rows, len(tokenizer)))
            lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
        found[side] = np.concatenate(ids)
        found[f"{side}_ends"] = np.cumsum(np.concatenate(lengths))
    return found
