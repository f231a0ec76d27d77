"""Multiple-choice questions from a tab-separated file: a text, its answers, and the number of the right one from 1.

The cat was hungry. <TAB> It ate. <TAB> It flew. <TAB> 1

In a .jsonl file the same values are those of an object, in this order.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from qkv.data.labels import is_json, rows_in
from qkv.errors import DataError

FEWEST = 4  # columns: text, two answers, number


@dataclass(frozen=True, kw_only=True)
class Questions:
    inputs: list[tuple[str, ...]]  # the text, then the answers
    right: list[int]  # from 0

    def __len__(self) -> int:
        return len(self.inputs)

    def fingerprint(self) -> str:
        return sha256(repr((self.inputs, self.right)).encode()).hexdigest()

    def select(self, rows: list[int]) -> "Questions":
        return Questions(inputs=[self.inputs[row] for row in rows], right=[self.right[row] for row in rows])


def read_questions(path: Path) -> Questions:
    inputs, right = [], []
    columns = 0
    lines = rows_in(path)
    if is_json(path):
        next(lines)  # the names
    for number, cells in lines:
        *texts, answer = (cell.strip() for cell in cells)
        where = f"{path}, line {number}"
        columns = columns or len(texts) + 1
        if columns < FEWEST or len(texts) + 1 != columns:
            raise DataError(
                f"{where} has {len(texts) + 1} columns: every line must have a text, the same number of answers (at least two) and "
                "the number of the right one, separated by tabs."
            )
        if not all(texts):
            raise DataError(f"{where} has an empty text: write one, or remove the line.")
        if len(set(texts[1:])) < len(texts) - 1:
            raise DataError(f"{where} has the same answer twice: write different ones, or remove the line.")
        if not answer.isdecimal() or not 1 <= int(answer) < len(texts):
            raise DataError(
                f"{where}: '{answer}' is not the number of one of its {len(texts) - 1} answers, counted from 1."
            )
        inputs.append(tuple(texts))
        right.append(int(answer) - 1)
    return Questions(inputs=inputs, right=right)
