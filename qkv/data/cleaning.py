"""Drop unusable pairs, with a count for each reason, and hold out pairs for validation."""

from dataclasses import dataclass
from hashlib import blake2b
from unicodedata import east_asian_width

from qkv.data.parallel import ParallelText
from qkv.errors import UserError

# Up to this length any pair may be true: "OK" ↔ "In Ordnung", "Yes." ↔ "Das stimmt genau."
SHORT = 20
FEWEST_TO_SPLIT = 20
FIRST_WIDE = "\u1100"  # no character before this one is wide


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """The pairs that are left, and how many were dropped for each reason, in the order of testing."""

    pairs: ParallelText
    dropped: dict[str, int]


def clean(pairs: ParallelText, *, longest: int, ratio: float) -> Cleaned:
    """Strip every sentence and drop pairs that are empty, too long or absurdly unequal.

    Length is in characters, the wide ones of Chinese, Japanese and Korean counting double, because one says
    about as much as two letters. Words would not do, for those languages write no spaces; nor would bytes,
    for Hindi or Thai spend three on every letter. `longest` bounds each side. `ratio` bounds the longer side
    over the shorter, where the longer has more than 20 characters.
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
        counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        raise UserError(
            f"None of the {len(pairs.source)} sentence pairs is left after cleaning ({counts}): "
            f"check that the two sides belong together, or raise the limits, now length {longest} "
            f"and ratio {ratio:g}."
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
    if max(text) < FIRST_WIDE:  # nearly all text, and much faster
        return len(text)
    return len(text) + sum(east_asian_width(character) in "WF" for character in text)


def duplicates_in(pairs: ParallelText) -> int:
    """Pairs that repeat an earlier one exactly."""
    return len(pairs) - len(set(zip(pairs.source, pairs.target, strict=True)))


def shared_by(train: ParallelText, valid: ParallelText) -> int:
    """Validation pairs that the training data contain exactly."""
    known = set(zip(train.source, train.target, strict=True))
    return sum(pair in known for pair in zip(valid.source, valid.target, strict=True))


def hold_out(
    pairs: ParallelText, *, count: int, seed: int, repeated: bool = False
) -> tuple[ParallelText, ParallelText]:
    """Split into training and validation: about `count` pairs for the latter, never above a tenth of all.

    A source sentence goes to one side with all its translations, chosen by a hash of it and the seed: the
    same on every machine, and nearly unchanged when the data grow. The validation part contains a pair once, however
    often the data do; earlier versions of qkv kept them all, and with `repeated` so does this one.
    """
    distinct = pairs if repeated else without_duplicates(pairs)
    total = len(distinct)
    advice = "give separate validation files"
    if total < FEWEST_TO_SPLIT:
        raise UserError(
            f"There are {total} different sentence pairs, too few to hold some out for validation "
            f"(at least {FEWEST_TO_SPLIT}): {advice}."
        )
    if count < 1:
        raise UserError(f"Holding out {count} pairs leaves no validation examples: hold out at least 1.")
    held = _held_sources(distinct.source, most=min(count, total // 10), seed=seed)
    if not held:
        raise UserError(
            f"Nothing can be held out of the {total} sentence pairs, because the same few source sentences "
            f"are repeated in all of them: {advice}."
        )
    return _where(pairs, held, inside=False), _where(distinct, held, inside=True)


def without_duplicates(pairs: ParallelText) -> ParallelText:
    """Every pair once, in the order of the first ones."""
    distinct = list(dict.fromkeys(zip(pairs.source, pairs.target, strict=True)))
    return ParallelText(source=[source for source, _ in distinct], target=[target for _, target in distinct])


def _held_sources(sources: list[str], *, most: int, seed: int) -> set[str]:
    """Source sentences in the order of their hash until `most` pairs are taken, passing over too large groups."""
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


def _where(pairs: ParallelText, held: set[str], *, inside: bool) -> ParallelText:
    chosen = [
        (source, target)
        for source, target in zip(pairs.source, pairs.target, strict=True)
        if (source in held) == inside
    ]
    return ParallelText(source=[source for source, _ in chosen], target=[target for _, target in chosen])
