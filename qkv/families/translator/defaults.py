"""What a translator needs to know beside its weights."""

from dataclasses import dataclass
from typing import ClassVar

from qkv.families.translator.alignment import Aligner
from qkv.families.translator.answers import Confidence
from qkv.families.translator.options import STRONGEST_PENALTY, WIDEST_BEAM


@dataclass(frozen=True, kw_only=True)
class Languages:
    source: str
    target: str

    @classmethod
    def of(cls, source: str | None, target: str | None) -> "Languages":
        """Where nobody has named them they are called source and target."""
        return cls(source=source or "source", target=target or "target")

    def named(self) -> tuple[str | None, str | None]:
        """Those that somebody has named."""
        unnamed = Languages.of(None, None)
        return (
            None if self.source == unnamed.source else self.source,
            None if self.target == unnamed.target else self.target,
        )


@dataclass(frozen=True, kw_only=True)
class TranslatorDefaults:
    """What a translator needs to know beside its weights."""

    OLD_NAMES: ClassVar = {"beam": "beam_size", "longest": "max_source_length"}

    languages: Languages
    max_source_length: int  # pieces of the longest source that is translated whole: more is split
    beam_size: int
    length_penalty: float
    stand_ins: tuple[str, ...] = ()  # words that it copies, for spans that it does not know
    aligner: Aligner | None = None
    confidence: Confidence | None = None

    def __post_init__(self) -> None:
        rules = {
            "max_source_length should be at least 1": self.max_source_length >= 1,
            f"beam_size should be from 1 to {WIDEST_BEAM}": 1 <= self.beam_size <= WIDEST_BEAM,
            f"length_penalty should be from 0 to {STRONGEST_PENALTY:g}": (
                0 <= self.length_penalty <= STRONGEST_PENALTY
            ),
        }
        for rule, holds in rules.items():
            if not holds:
                raise ValueError(rule)
