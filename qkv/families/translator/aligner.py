"""Which heads of the decoder give word alignments. A model's defaults name them, so this needs no NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qkv.core.translation import CrossHeads, TranslationConfig, TranslationRunner
from qkv.errors import QkvError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class Aligner:
    """The cross-attention heads that give alignments."""

    block: int
    heads: tuple[int, ...]
    late: bool
    """True: use the attention of the step that reads a token, not of the step that predicts it."""

    @classmethod
    def for_any(cls, config: TranslationConfig) -> "Aligner":
        """The default: all heads of the last block but one, at the step that predicts a token."""
        blocks, heads = config.cross_attention_shape
        return cls(block=max(0, blocks - 2), heads=tuple(range(heads)), late=False)

    def fits(self, blocks: int, heads: int) -> bool:
        """Whether a model of this shape has these heads."""
        return 0 <= self.block < blocks and bool(self.heads) and all(0 <= head < heads for head in self.heads)

    def check(self, config: TranslationConfig) -> None:
        """Raise an error if a model of this config lacks these heads."""
        blocks, heads = config.cross_attention_shape
        if not self.fits(blocks, heads):
            raise QkvError(
                f"the aligner in the model's config names heads {', '.join(map(str, self.heads)) or '(none)'} of block "
                f"{self.block}, but this model has {blocks} blocks of {heads} heads, counted from 0. "
                "It belongs to another model."
            )

    @property
    def cross_heads(self) -> CrossHeads:
        return CrossHeads(block=self.block, heads=self.heads)

    def attention(
        self, runner: TranslationRunner, source: Sequence[int], output: Sequence[int]
    ) -> "np.ndarray":
        """The attention of each output id on each source id, including the end token. (T, S)"""
        from qkv.families.translator.alignment import forced_attention, rows_of

        weights = forced_attention(runner, source, output, self.cross_heads)
        return rows_of(weights, len(output), self.late)
