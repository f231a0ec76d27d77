"""BPE dropout: words are tokenized differently in every epoch (Provilkov et al., 2020).

Each merge is skipped with a small probability, so that the model also learns the parts of words. The `tokenizers` library
has this too, but without a seed, so that runs could not be reproduced.
"""

import json
import random
from array import array
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qkv.text.tokenizer import Tokenizer

SEGMENTATIONS_PER_WORD = 4  # per epoch; each occurrence of the word uses one of them
WORDS_AT_ONCE = 1_000_000


class BPEDropout:
    """Tokenizes sentences differently for every seed."""

    def __init__(self, tokenizer: Tokenizer, texts: Iterable[str], share: float):
        model = json.loads(tokenizer.text())["model"]
        self.ids: dict[str, int] = model["vocab"]
        self.ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
        self.share = share
        numbers: dict[str, int] = {}
        occurrences, ends = array("I"), array("q")  # the words of all sentences, and where each sentence ends
        for text in texts:
            occurrences.extend(numbers.setdefault(word, len(numbers)) for word in tokenizer.words(text))
            ends.append(len(occurrences))
        self.occurrences = np.array(occurrences, np.uint32)
        self.ends = np.array(ends, np.int64)
        self.words = list(numbers)

    def encode_all(self, seed: int) -> list[list[int]]:
        """The ids of every sentence for this seed."""
        ids, ends = self.encode_arrays(seed)
        return [each.tolist() for each in np.split(ids, ends[:-1])] if len(ends) else []

    def encode_arrays(self, seed: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all sentences one after another, and where each sentence ends."""
        chance = random.Random(seed)
        segmentations = [
            self.segment(word, chance) for word in self.words for _ in range(SEGMENTATIONS_PER_WORD)
        ]
        sizes = np.fromiter(map(len, segmentations), np.int64, len(segmentations))
        tokens = np.fromiter(chain.from_iterable(segmentations), np.uint32)
        starts, same_numbers = np.cumsum(sizes) - sizes, continued(chance)
        blocks, counts = [], []
        for first in range(0, len(self.occurrences), WORDS_AT_ONCE):
            words = self.occurrences[first : first + WORDS_AT_ONCE].astype(np.int64)
            chosen = SEGMENTATIONS_PER_WORD * words
            chosen += (SEGMENTATIONS_PER_WORD * same_numbers.random_sample(len(words))).astype(np.int64)
            length = sizes[chosen]
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            blocks.append(tokens[np.repeat(starts[chosen], length) + within])
            counts.append(length.astype(np.uint32))
        after = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
        return np.concatenate([np.empty(0, np.uint32), *blocks]), after[self.ends]

    def segment(self, word: str, chance: random.Random) -> list[int]:
        """Apply merges in the order in which they were learned, skipping each with probability `share`."""
        tokens = list(word)
        while True:
            best, place = len(self.ranks), -1
            for index in range(len(tokens) - 1):
                rank = self.ranks.get((tokens[index], tokens[index + 1]), best)
                if rank < best and chance.random() >= self.share:
                    best, place = rank, index
            if place < 0:
                return [self.ids[token] for token in tokens]
            tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]


def continued(chance: random.Random) -> np.random.RandomState:
    """NumPy's generator with the state of Python's: both are the same Mersenne Twister, and so are their numbers."""
    _, state, _ = chance.getstate()
    generator = np.random.RandomState()
    generator.set_state(("MT19937", np.array(state[:-1], np.uint32), state[-1], 0, 0.0))
    return generator
