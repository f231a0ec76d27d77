"""What every translation model has in common, whatever computes it. Needs no torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True, kw_only=True)
class CrossHeads:
    """Cross-attention heads in one block of the decoder."""

    block: int
    heads: tuple[int, ...]


class TranslationConfig(Protocol):
    """What every translation model's config has, whatever its architecture."""

    architecture: ClassVar[str]  # its name in bundles and on the command line

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_length(self) -> int: ...  # most positions on either side

    @property
    def pad(self) -> int: ...

    @property
    def start(self) -> int: ...  # the decoder's first input

    @property
    def end(self) -> int: ...

    @property
    def label_smoothing(self) -> float: ...

    @property
    def cross_attention_shape(
        self,
    ) -> tuple[int, int]: ...  # blocks with attention to the source, heads in each

    def complete_source(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a source as the model reads them: with its end token, if it reads one."""
        ...

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]: ...  # of the weights, by name

    def facts(self) -> dict[str, str]: ...  # a description for users


class TranslationRunner(Protocol):
    """What computes a translation model: the compiled engine, NumPy, or torch."""

    @property
    def config(self) -> TranslationConfig: ...

    @property
    def device(self) -> Any: ...  # where torch computes; None for NumPy arrays

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None = None) -> Any:
        """A `qkv.decoding.step.Step` that decodes these sources, each complete (`complete_source`)."""
        ...
