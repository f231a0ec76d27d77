"""BPE dropout: in training, words are tokenized differently each time (Provilkov et al., 2020).

Where the tokenizer would join two pieces, it leaves them apart with a small probability, so that a model
learns what the parts of a word mean as well. `tokenizers` can do it, but from random numbers that no seed
governs, and a run could not be repeated.
"""

import json
import random
from collections.abc import Sequence

from qkv.text.tokenizer import Tokenizer

CUTS_OF_A_WORD = 4  # tokenizations drawn per epoch; each occurrence of the word uses one of them


class SubwordDropout:
    """The words of some sentences, tokenized anew in every epoch."""

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
        """The ids of every sentence; a function of the seed alone."""
        chance = random.Random(seed)
        cuts = [[self.cut(word, chance) for _ in range(CUTS_OF_A_WORD)] for word in self.words]
        return [
            [piece for word in sentence for piece in cuts[word][int(CUTS_OF_A_WORD * chance.random())]]
            for sentence in self.sentences
        ]

    def cut(self, word: str, chance: random.Random) -> list[int]:
        """Apply merges in the order in which they were learned, skipping each with probability `share`."""
        pieces = list(word)
        while True:
            best, place = len(self.ranks), -1
            for index in range(len(pieces) - 1):
                rank = self.ranks.get((pieces[index], pieces[index + 1]), best)
                if rank < best and chance.random() >= self.share:
                    best, place = rank, index
            if place < 0:
                return [self.ids[piece] for piece in pieces]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
