"""How many examples are held out for validation, and which ones."""

import random
from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from qkv.errors import DataError

MIN_TO_SPLIT = 10  # examples


class TooFewError(DataError):
    """Too few examples to hold some out. Python and the command line name validation data differently."""

    def __init__(self, fault: str):
        self.fault = fault
        super().__init__(f"{fault} Give more, or validation data as `valid`.")

    def with_flags(self) -> str:
        return f"{self.fault} Give more, or separate validation data."


def count_to_hold_out(size: str, total: int) -> int:
    """A validation size as a number of examples: a number is at most a tenth of the data, a share such as 5% is as given."""
    if size.endswith("%"):
        return max(1, round(share_to_hold_out(size, total) * total))
    return min(int(size), max(1, total // 10))


def share_to_hold_out(size: str, total: int) -> float:
    """The same rule, as a share of the data."""
    if size.endswith("%"):
        return float(size.removesuffix("%")) / 100
    return count_to_hold_out(size, total) / max(1, total)


class Examples(Protocol):
    def __len__(self) -> int: ...

    def select(self, rows: list[int], /) -> Self: ...


E = TypeVar("E", bound=Examples)


def hold_out_examples(examples: E, size: str, seed: int) -> tuple[E, E]:
    """Split examples into a training part and a validation part, chosen by the seed."""
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    train, valid = split_rows(order, size, "examples")
    return examples.select(train), examples.select(valid)


def split_rows(order: Sequence[int], size: str, name: str) -> tuple[list[int], list[int]]:
    """Rows to train on and rows held out, each in ascending order. The first rows of a shuffled order are held out."""
    if len(order) < MIN_TO_SPLIT:
        raise TooFewError(
            f"{len(order)} {name} are too few to hold some out for validation; at least {MIN_TO_SPLIT} are needed."
        )
    count = count_to_hold_out(size, len(order))
    return sorted(order[count:]), sorted(order[:count])
