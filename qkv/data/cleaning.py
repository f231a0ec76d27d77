"""Drop unusable pairs, with a count for each reason, and hold out pairs for validation."""

from dataclasses import dataclass
from hashlib import blake2b
from unicodedata import east_asian_width

from qkv.data.holding_out import MIN_TO_SPLIT, TooFewError, count_to_hold_out
from qkv.data.parallel import ParallelText
from qkv.errors import DataError

# Below this length, the ratio says nothing: "OK" ↔ "In Ordnung", "Yes." ↔ "Das stimmt genau."
SHORT = 20
FIRST_WIDE = "\u1100"  # no character before this one is wide


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """The remaining pairs, and how many were dropped for each reason."""

    pairs: ParallelText
    dropped: dict[str, int]


def clean(pairs: ParallelText, *, longest: int, ratio: float) -> Cleaned:
    """Strip every sentence and drop pairs that are empty, longer than `longest`, or of very different lengths.

    If the longer side has more than 20 characters, it may be at most `ratio` times as long as the other. Lengths are in
    characters. Wide characters of Chinese, Japanese and Korean count twice, because one carries about as much meaning as two
    letters. Words cannot be counted in languages without spaces, and Hindi and Thai need three bytes per letter.
    """
    dropped = {"empty": 0, "too long": 0, "unequal lengths": 0}
    sources: list[str] = []
    targets: list[str] = []
    for source, target in zip(pairs.source, pairs.target, strict=True):
        source, target = source.strip(), target.strip()
        reason = _reason_to_drop(source, target, longest, ratio)
        if reason is None:
            sources.append(source)
            targets.append(target)
        else:
            dropped[reason] += 1
    if not sources:
        counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
        raise DataError(
            f"All {len(pairs.source)} sentence pairs were dropped by cleaning ({counts}). "
            f"Check that the two sides belong together, or raise the limits: length {longest} and ratio {ratio:g}."
        )
    return Cleaned(pairs=ParallelText(source=sources, target=targets), dropped=dropped)


def _reason_to_drop(source: str, target: str, longest: int, ratio: float) -> str | None:
    if not source or not target:
        return "empty"
    shorter, longer = sorted((text_length(source), text_length(target)))
    if longer > longest:
        return "too long"
    if longer > SHORT and longer > ratio * shorter:
        return "unequal lengths"
    return None


def text_length(text: str) -> int:
    if max(text) < FIRST_WIDE:  # a fast path for most text
        return len(text)
    return len(text) + sum(east_asian_width(character) in "WF" for character in text)


def count_duplicates(pairs: ParallelText) -> int:
    """The number of pairs that repeat an earlier one exactly."""
    return len(pairs) - len(set(zip(pairs.source, pairs.target, strict=True)))


def count_shared(train: ParallelText, valid: ParallelText) -> int:
    """The number of validation pairs that are also in the training data."""
    known = set(zip(train.source, train.target, strict=True))
    return sum(pair in known for pair in zip(valid.source, valid.target, strict=True))


def hold_out(
    pairs: ParallelText, *, size: str, seed: int, repeated: bool = False
) -> tuple[ParallelText, ParallelText]:
    """Split pairs into a training part and a validation part of about `size` (see `count_to_hold_out`).

    A source sentence is in one part only, with all its translations. The part depends on a hash of the sentence and the
    seed, so it is the same on every machine and changes little when data are added. The validation part has no duplicates,
    unless `repeated` is set to split as earlier versions of qkv did.
    """
    distinct = pairs if repeated else without_duplicates(pairs)
    total = len(distinct)
    if total < MIN_TO_SPLIT:
        found = "1 different sentence pair is" if total == 1 else f"{total} different sentence pairs are"
        raise TooFewError(
            f"{found} too few to hold some out for validation; at least {MIN_TO_SPLIT} are needed."
        )
    held = _held_sources(distinct.source, most=count_to_hold_out(size, total), seed=seed)
    if not held:
        raise TooFewError(
            f"nothing can be held out of the {total} sentence pairs, because they repeat the same few source sentences."
        )
    return _select(pairs, held, inside=False), _select(distinct, held, inside=True)


def without_duplicates(pairs: ParallelText) -> ParallelText:
    """Every pair once, in the order of first occurrence."""
    distinct = list(dict.fromkeys(zip(pairs.source, pairs.target, strict=True)))
    return ParallelText(source=[source for source, _ in distinct], target=[target for _, target in distinct])


def _held_sources(sources: list[str], *, most: int, seed: int) -> set[str]:
    """Source sentences in the order of their hashes, with at most `most` pairs; groups that are too large are skipped."""
    occurrences: dict[str, int] = {}
    for source in sources:
        occurrences[source] = occurrences.get(source, 0) + 1
    held: set[str] = set()
    room = most
    for source in sorted(occurrences, key=lambda sentence: _digest(sentence, seed)):
        if occurrences[source] <= room:
            held.add(source)
            room -= occurrences[source]
        if room == 0:
            break
    return held


def _digest(sentence: str, seed: int) -> bytes:
    return blake2b(f"{seed}\n{sentence}".encode(), digest_size=16).digest()


def _select(pairs: ParallelText, held: set[str], *, inside: bool) -> ParallelText:
    chosen = [
        (source, target)
        for source, target in zip(pairs.source, pairs.target, strict=True)
        if (source in held) == inside
    ]
    return ParallelText(source=[source for source, _ in chosen], target=[target for _, target in chosen])
