"""The sizes of a Vision Transformer and the shapes of its weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from qkv.core.stack_config import StackConfig, linear_shapes


@dataclass(frozen=True, kw_only=True)
class VitConfig:
    OLD_NAMES: ClassVar = {"smoothing": "label_smoothing"}

    height: int
    width: int  # of an image, in pixels; stack.width is the width of a patch's vector
    channels: int
    patch: int  # pixels on a side
    classes: int
    stack: StackConfig
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if (
            min(self.height, self.width, self.patch) < 1
            or self.height % self.patch
            or self.width % self.patch
        ):
            raise ValueError(
                f"an image of {self.width} × {self.height} pixels cannot be split into patches of {self.patch} × {self.patch}"
            )
        if self.channels < 1 or self.classes < 2:
            raise ValueError("there must be at least 1 channel and at least 2 classes")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError("label smoothing must be at least 0 and below 1")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        width = self.stack.width
        yield from linear_shapes("patches", self.channels * self.patch**2, width)
        yield "class_token", (width,)
        yield "positions.table", (1 + self.patches, width)
        yield from self.stack.shapes("stack")
        yield from linear_shapes("head", width, self.classes)

    @property
    def patches(self) -> int:
        return (self.height // self.patch) * (self.width // self.patch)
