"""Checks of single pairs. This is most of the work, so it is divided among processes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qkv.corpus.duplicates import NO_SIGNATURES, Hashes, Signatures, pair_fingerprint, signatures_of
from qkv.corpus.filters import Pair, first_filter, in_script, script_of
from qkv.corpus.held_out import HeldOut
from qkv.corpus.language import LanguageFilter
from qkv.corpus.reasons import HELD_OUT, KEPT, NUMBER, OTHER_LANGUAGE, OTHER_SCRIPT, Reasons
from qkv.corpus.settings import CleanSettings

Texts = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Languages:
    """Codes such as en and de; None if a language is unknown."""

    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The reasons of some pairs, and the fingerprints and signatures of those that are kept so far."""

    reasons: Reasons
    fingerprints: Hashes
    signatures: Signatures

    @classmethod
    def empty(cls) -> "Judged":
        none = np.zeros(0)
        return cls(
            reasons=none.astype(np.uint8), fingerprints=none.astype(np.uint64), signatures=NO_SIGNATURES
        )

    @classmethod
    def join(cls, parts: Sequence["Judged"]) -> "Judged":
        return cls(
            reasons=np.concatenate([part.reasons for part in parts]),
            fingerprints=np.concatenate([part.fingerprints for part in parts]),
            signatures=np.concatenate([part.signatures for part in parts]),
        )


@dataclass(frozen=True)
class Judge:
    settings: CleanSettings
    languages: Languages
    held_out: HeldOut

    def __call__(self, pairs: Texts) -> Judged:
        reasons = np.fromiter((NUMBER[self.reason(*pair)] for pair in pairs), np.uint8, len(pairs))
        kept = [pairs[row] for row in np.flatnonzero(reasons == KEPT).tolist()]
        return Judged(
            reasons=reasons,
            fingerprints=np.fromiter((pair_fingerprint(*pair) for pair in kept), np.uint64, len(kept)),
            signatures=signatures_of(kept),
        )

    def reason(self, source: str, target: str) -> str:
        found = first_filter(Pair(source, target), self.settings)
        if found is not None:
            return found
        share = self.settings.min_script
        for text, script in zip((source, target), self.scripts, strict=True):
            if script is not None and not in_script(text, script, share):
                return OTHER_SCRIPT
        if self.held_out.has(source, target):
            return HELD_OUT
        if self.language is not None and self.language.drops(source, target):
            return OTHER_LANGUAGE
        return "kept"

    @cached_property
    def scripts(self) -> tuple[str | None, str | None]:
        return script_of(self.languages.source), script_of(self.languages.target)

    @cached_property
    def language(self) -> LanguageFilter | None:
        confidence = self.settings.language_confidence
        return (
            LanguageFilter(self.languages.source, self.languages.target, confidence) if confidence else None
        )


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
