"""Sentences that must not be trained on, because a model will be validated or tested on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qkv.corpus.duplicates import NO_SIGNATURES, Signatures, fingerprint, signatures_of
from qkv.corpus.records import Record, corpus_of, holds_pairs
from qkv.corpus.words import plain
from qkv.data.lines import numbered_lines


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Fingerprints of the sentences of each side, and signatures of the pairs to find near duplicates."""

    sources: frozenset[int] = frozenset()
    targets: frozenset[int] = frozenset()
    signatures: Signatures = field(default_factory=NO_SIGNATURES.copy)

    @classmethod
    def of(cls, pairs: Iterable[Record], sentences: Iterable[str] = ()) -> "HeldOut":
        """`sentences` may be of either language."""
        records = list(pairs)
        both = {fingerprint(plain(sentence)) for sentence in sentences}
        return cls(
            sources=frozenset(both | {fingerprint(plain(record.source)) for record in records}),
            targets=frozenset(both | {fingerprint(plain(record.target)) for record in records}),
            signatures=signatures_of([(record.source, record.target) for record in records]),
        )

    def has(self, source: str, target: str) -> bool:
        if not self.sources and not self.targets:
            return False
        return fingerprint(plain(source)) in self.sources or fingerprint(plain(target)) in self.targets


def read_held_out(files: Sequence[Path], source_language: str | None, target_language: str | None) -> HeldOut:
    """Files with pairs, or plain files with the sentences of one language."""
    pairs = [path for path in files if holds_pairs(path)]
    plain_files = [path for path in files if not holds_pairs(path)]
    sentences = (line for path in plain_files for _, line in numbered_lines(path) if line.strip())
    return HeldOut.of(corpus_of(pairs, source_language, target_language)(), sentences)
