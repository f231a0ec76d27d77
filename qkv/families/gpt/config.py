"""The sizes of GPT models and the shapes of their weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from qkv.core.limits import check_context, check_tokens
from qkv.core.stack_config import StackConfig


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    OLD_NAMES: ClassVar = {"vocab": "vocab_size", "context": "max_length"}

    vocab_size: int
    max_length: int  # tokens of context
    end: int  # the token between documents
    positions: Literal["learned", "rotary"]
    stack: StackConfig

    def __post_init__(self) -> None:
        check_context(self.max_length, self.stack.width, least=2)
        check_tokens(self.vocab_size, end=self.end)
        if self.positions == "rotary" and self.stack.width // self.stack.heads % 2:
            raise ValueError("rotary positions rotate pairs of columns: the width of a head must be even")

    def shapes(self, name: str = "") -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}tokens.weight", (self.vocab_size, self.stack.width)
        if self.positions == "learned":
            yield f"{name}positions.table", (self.max_length, self.stack.width)
        yield from self.stack.shapes(f"{name}stack")


def first_read(length: int, context: int) -> int:
    """Where the context window of a text of `length` tokens begins.

    A text that fits is read from its start. If it is longer, the older half of the window is dropped and the rest is
    read again from the first position, until the window is full again. The start depends on the length alone, so it
    does not matter in which chunks a text is read.
    """
    stride = context - context // 2
    return 0 if length <= context else stride * -(-(length - context) // stride)


Task = Literal["classes", "value", "choice"]


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    gpt: GPTConfig
    task: Task  # predict a class, predict a number, or choose among several texts
    classes: int
    auxiliary: float = 0.5  # weight of the language model's loss (λ)

    def __post_init__(self) -> None:
        if (self.classes < 2) is (self.task == "classes"):
            raise ValueError("a task with classes needs at least 2 classes; any other task has 1")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield from self.gpt.shapes("gpt.")
        yield "head.weight", (self.classes, self.gpt.stack.width)
