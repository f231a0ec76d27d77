"""What a translator's bundle states apart from its weights: languages and decoding defaults."""

from dataclasses import dataclass
from typing import ClassVar

from qkv.decoding.beam_options import LengthNorm
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.options import STRONGEST_PENALTY, WIDEST_BEAM
from qkv.families.translator.translations import Confidence


@dataclass(frozen=True, kw_only=True)
class Languages:
    source: str
    target: str

    @classmethod
    def of(cls, source: str | None, target: str | None) -> "Languages":
        """Languages without a name are called source and target."""
        return cls(source=source or "source", target=target or "target")

    def named(self) -> tuple[str | None, str | None]:
        """The names that were given; None for the others."""
        unnamed = Languages.of(None, None)
        return (
            None if self.source == unnamed.source else self.source,
            None if self.target == unnamed.target else self.target,
        )


@dataclass(frozen=True, kw_only=True)
class TranslatorDefaults:
    """Languages, decoding defaults and calibration of a translator."""

    OLD_NAMES: ClassVar = {"beam": "beam_size", "longest": "max_source_length"}

    languages: Languages
    max_source_length: int  # tokens; a longer source is split into segments
    beam_size: int
    length_penalty: float
    length_norm: LengthNorm = "paper"
    stand_ins: tuple[str, ...] = ()  # words that it copies reliably, to replace spans that it may not
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
