"""BPE dropout: words are tokenized differently in every epoch (Provilkov et al., 2020).

Each merge is skipped with a small probability, so that the model also learns the parts of words. The `tokenizers` library
has this too, but without a seed, so that runs could not be reproduced.
"""

import json
import random
from collections.abc import Sequence

from qkv.text.tokenizer import Tokenizer

SEGMENTATIONS_PER_WORD = 4  # per epoch; each occurrence of the word uses one of them


class BPEDropout:
    """Tokenizes sentences differently for every seed."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], share: float):
        model = json.loads(tokenizer.text())["model"]
        self.ids: dict[str, int] = model["vocab"]
        self.ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
        self.share = share
        numbers: dict[str, int] = {}
        self.sentences = [
            [numbers.setdefault(word, len(numbers)) for word in tokenizer.words(text)] for text in texts
        ]
        self.words = list(numbers)

    def encode_all(self, seed: int) -> list[list[int]]:
        """The ids of every sentence for this seed."""
        chance = random.Random(seed)
        segmentations = [
            [self.segment(word, chance) for _ in range(SEGMENTATIONS_PER_WORD)] for word in self.words
        ]
        return [
            [
                token
                for word in sentence
                for token in segmentations[word][int(SEGMENTATIONS_PER_WORD * chance.random())]
            ]
            for sentence in self.sentences
        ]

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
