"""Find test sentences that occur in the training data: scores on those measure memory.

A bundle keeps a 64-bit fingerprint of every training sentence and every pair, not the text: at most 16 bytes a pair.
With a billion training sentences, about one new sentence in eighteen billion is mistaken for a seen one.
"""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays, write_arrays
from qkv.errors import DataError
from qkv.evaluation.scores import References, TranslationScores

Text = TypeVar("Text", str, str | None)
SEEN_FILE = "seen.safetensors"
Fingerprints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Fingerprints of the training data, sorted, each once."""

    source: Fingerprints
    pairs: Fingerprints


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Line numbers, from 1, of the test sentences that occur in the training data."""

    total: int
    lines: list[int]
    same_translation: list[int]  # those of `lines` with the translation of the training data as a reference
    numbers: Sequence[int] = ()  # the line of each sentence, if they are not 1, 2, 3 …

    def to_dict(self) -> dict[str, Any]:
        return {
            "sentences": len(self.lines),
            "same_translation": len(self.same_translation),
            "lines": self.lines,
            "same_translation_lines": self.same_translation,
        }

    def is_partial(self) -> bool:
        """Whether some sentences were seen and others not."""
        return 0 < len(self.lines) < self.total

    def unseen_of(self, texts: Sequence[Text]) -> list[Text]:
        """The texts, one per sentence, of the sentences that were not seen."""
        lines, numbers = set(self.lines), self.numbers or range(1, len(texts) + 1)
        return [text for line, text in zip(numbers, texts, strict=True) if line not in lines]


def plain(text: str) -> str:
    """Texts that differ only in case or white space are the same sentence."""
    return " ".join(text.casefold().split())


def pair_text(source: str, target: str | None) -> str:
    return f"{plain(source)}\t{plain(target or '')}"


def fingerprint(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def fingerprints(texts: Iterable[str]) -> Fingerprints:
    numbers = array("q", map(fingerprint, texts))  # eight bytes each, to save memory
    return np.unique(np.array(numbers, np.int64))


def seen_in(source: Sequence[str], target: Sequence[str]) -> Seen:
    return Seen(
        source=fingerprints(map(plain, source)),
        pairs=fingerprints(map(pair_text, source, target)),
    )


def both_seen(first: Seen | None, second: Seen) -> Seen:
    """The fingerprints of a model trained on two sets in turn; None for unknown training data."""
    if first is None:
        return second
    return Seen(
        source=np.union1d(first.source, second.source),
        pairs=np.union1d(first.pairs, second.pairs),
    )


def write_seen(folder: Path, seen: Seen) -> None:
    write_arrays(folder / SEEN_FILE, vars(seen))


def read_seen(folder: Path) -> Seen | None:
    """None if the bundle has no such file, because its training has not ended."""
    path = folder / SEEN_FILE
    if not path.exists():
        return None
    arrays = dict(StoredArrays(path))
    if set(arrays) != {"source", "pairs"} or any(each.dtype != np.int64 for each in arrays.values()):
        raise DataError(f"{path} is damaged. Restore it or delete it.")
    return Seen(**arrays)


def find_overlap(
    seen: Seen, source: Sequence[str], references: References, numbers: Sequence[int] = ()
) -> Overlap:
    """The sentences that were seen in training. `numbers` are their lines, if they are not 1, 2, 3 …"""
    known = is_known(map(plain, source), seen.source)
    known_pairs = [is_known(map(pair_text, source, each), seen.pairs) for each in references]
    rows = [row for row, each in enumerate(known) if each]
    same = [row for row in rows if any(each[row] for each in known_pairs)]
    line_of = (numbers or range(1, len(source) + 1)).__getitem__
    return Overlap(
        total=len(source),
        lines=[*map(line_of, rows)],
        same_translation=[*map(line_of, same)],
        numbers=numbers,
    )


def is_known(texts: Iterable[str], known: Fingerprints) -> list[bool]:
    found: list[bool] = np.isin(np.array([fingerprint(text) for text in texts], np.int64), known).tolist()
    return found


def warning(name: str, overlap: Overlap, without: TranslationScores | None, place: str) -> str:
    """A warning for readers of the scores; `without` are the scores on the unseen sentences."""
    count, first = len(overlap.lines), ", ".join(map(str, overlap.lines[:3]))
    more = ", …" if count > 3 else ""
    rest = "leave them out"
    if without is not None or not overlap.is_partial():
        rest = without_them(None if without is None else without.bleu.value)
    return (
        f"{count:,} of {overlap.total:,} test sentences occur in the training data of {name} "
        f"({len(overlap.same_translation):,} with the same translation; {place}{'' if count == 1 else 's'} "
        f"{first}{more}): scores on them measure memory; {rest}."
    )


def without_them(bleu: float | None) -> str:
    return "no sentence is left without them" if bleu is None else f"without them BLEU is {bleu:.2f}"
