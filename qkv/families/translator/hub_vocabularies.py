"""Published translators with a vocabulary for each language: special tokens get the same ids in both.

Our models have one id for padding and one for the end, so the tokens of the source are put into another order, together
with the rows of their embeddings.
"""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

NO_ROW = -1


def source_order(
    source: Sequence[str], target: Sequence[str], special: Collection[int]
) -> tuple[list[str], list[int]]:
    """The tokens of the source in our order, and for each of them its row in the original table, or `NO_ROW`.

    `special` are ids of the target; the tokens of these names get the same ids.

    Example:
        >>> source_order(["a", "b", "</s>"], ["</s>", "<pad>", "x"], [0, 1])
        (['</s>', '<pad>', 'a', 'b'], [2, -1, 0, 1])
    """
    rows = {name: row for row, name in enumerate(source)}
    fixed = {id: target[id] for id in special}
    others = [name for name in source if name not in set(fixed.values())]
    size = max(len(others) + len(fixed), max(fixed, default=-1) + 1)
    taken = {*source, *fixed.values()}
    left = iter([*others, *new_names(size, taken)])
    names = [fixed[id] if id in fixed else next(left) for id in range(size)]
    return names, [rows.get(name, NO_ROW) for name in names]


def new_names(count: int, taken: Collection[str]) -> list[str]:
    """Names of tokens that no text has, for ids that nothing else uses."""
    return [
        name for name in (f"<unused {number}>" for number in range(count + len(taken))) if name not in taken
    ]


def new_name(names: Collection[str]) -> str:
    """A name for a padding token that is added."""
    name = "<pad>"
    while name in names:
        name = f"<{name}>"
    return name


def in_order(table: Tensor, rows: Sequence[int]) -> Tensor:
    """The rows of a table in this order, with zeros for `NO_ROW`."""
    chosen = torch.tensor(rows)
    found = table[chosen.clamp(min=0)]
    found[chosen == NO_ROW] = 0.0
    return found
