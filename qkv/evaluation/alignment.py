"""Word alignments: their error against gold, and a dictionary learned from sentence pairs."""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch

Links = Iterable[tuple[int, int]]
ROUNDS = 6  # of expectation-maximization
RARELY = 1e-6  # the probability of a translation that was never seen


def alignment_error(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """AER (Och and Ney 2003), in percent, if every gold link is sure: 100 minus the F-measure of the links."""
    both = total = 0
    for one, other in zip(found, gold, strict=True):
        ours, theirs = set(one), set(other)
        both += len(ours & theirs)
        total += len(ours) + len(theirs)
    return 100 * (1 - 2 * both / total) if total else 0.0


class Dictionary:
    """Translation probabilities of words (IBM model 1, Brown et al. 1993).

    The empty string is a source word of every sentence, the source of target words without a counterpart.
    """

    def __init__(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]):
        numbers: dict[tuple[str, str], int] = {}
        cells: list[int] = []  # each possible link, as the index of its word pair
        places: list[int] = []  # the index of the target word that it explains
        place = 0
        for source, target in pairs:
            for word in target:
                for other in ("", *source):
                    cells.append(numbers.setdefault((other, word), len(numbers)))
                    places.append(place)
                place += 1
        self.numbers = numbers
        sources = {word: number for number, word in enumerate(dict.fromkeys(one for one, _ in numbers))}
        owner = torch.tensor([sources[one] for one, _ in numbers], dtype=torch.long)
        cell, where = torch.tensor(cells, dtype=torch.long), torch.tensor(places, dtype=torch.long)
        self.probability = torch.ones(len(numbers), dtype=torch.float64)
        for _ in range(ROUNDS):
            share = self.probability[cell]
            share = share / torch.zeros(place, dtype=torch.float64).index_add(0, where, share)[where]
            count = torch.zeros(len(numbers), dtype=torch.float64).index_add(0, cell, share)
            total = torch.zeros(len(sources), dtype=torch.float64).index_add(0, owner, count)
            self.probability = count / total[owner]

    def __call__(self, source: str, target: str) -> float:
        number = self.numbers.get((source, target))
        return RARELY if number is None else max(RARELY, float(self.probability[number]))


def copied_words(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], fewest: int, most: int) -> list[str]:
    """Words that nearly always occur in both texts of a pair or in neither, the most frequent first."""
    on_left: Counter[str] = Counter()
    on_right: Counter[str] = Counter()
    on_both: Counter[str] = Counter()
    for source, target in pairs:
        left, right = set(source), set(target)
        on_left.update(left)
        on_right.update(right)
        on_both.update(left & right)
    return [
        word
        for word, count in sorted(on_both.items(), key=lambda item: (-item[1], item[0]))
        if count >= fewest and word.isalpha() and count >= 0.9 * max(on_left[word], on_right[word])
    ][:most]
