"""The data of an adaptation: what to learn, what not to forget, and what to measure on."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qkv.data.cleaning import clean, hold_out
from qkv.data.lines import one_line
from qkv.data.parallel import ParallelText, iterate_pairs
from qkv.errors import DataError
from qkv.localization.memory import Memory
from qkv.localization.storage import is_memory

MAX_CHARACTERS, MAX_RATIO = 1_000, 6.0  # longer or less equal pairs teach little
FEWEST = 30  # pairs
MOST_REPEATS = (
    8  # of the project's pairs in the file to train on, so that each pass replays other general pairs
)

Languages = tuple[str | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Pairs to train on, to choose by and to test on. No source is in two of them."""

    train: ParallelText
    dev: ParallelText
    test: ParallelText


def pairs_in(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    """The pairs of a translation memory or of a file."""
    if is_memory(path):
        with Memory.open(path, create_missing=False) as memory:
            memory.check_languages(*languages, "the model")
            yield from ((entry.source, entry.target) for entry in memory.entries())
    else:
        yield from iterate_pairs(path, *languages)


def text_of(pairs: Iterable[tuple[str, str]]) -> ParallelText:
    """Clean pairs, each once, in lines as the model reads them."""
    rows = list(dict.fromkeys((one_line(source), one_line(target)) for source, target in pairs))
    found = ParallelText(source=[row[0] for row in rows], target=[row[1] for row in rows])
    return clean(found, longest=MAX_CHARACTERS, ratio=MAX_RATIO).pairs


def some_of(pairs: ParallelText, most: int, seed: int) -> ParallelText:
    """At most this many pairs, in memory: the data of a run may be larger than that."""
    rows = range(len(pairs))
    chosen = sorted(random.Random(seed).sample(rows, most)) if most < len(rows) else list(rows)
    return pairs.select(np.array(chosen, dtype=np.int64))


def split(pairs: ParallelText, held_out: int, seed: int, what: str) -> Parts:
    if len(pairs) < FEWEST:
        raise DataError(f"{len(pairs)} {what} are too few: at least {FEWEST} different ones are needed.")
    rest, test = hold_out(pairs, size=str(held_out), seed=seed)
    train, dev = hold_out(rest, size=str(held_out), seed=seed + 1)
    return Parts(train=train, dev=dev, test=test)


def halves(pairs: ParallelText, most: int, seed: int) -> tuple[ParallelText, ParallelText]:
    """A part to choose by and a part to test on, of at most this many pairs each."""
    sources = list(dict.fromkeys(pairs.source))
    random.Random(seed).shuffle(sources)
    middle = len(sources) // 2
    groups = (set(sources[:middle][:most]), set(sources[middle:][:most]))
    first, second = (selected(pairs, group, inside=True) for group in groups)
    return first, second


def selected(pairs: ParallelText, sources: set[str], *, inside: bool) -> ParallelText:
    rows = [
        (source, target)
        for source, target in zip(pairs.source, pairs.target, strict=True)
        if (source in sources) == inside
    ]
    return ParallelText(source=[row[0] for row in rows], target=[row[1] for row in rows])


def without_sources(pairs: ParallelText, *held: ParallelText) -> ParallelText:
    """The pairs whose source is in none of these parts."""
    return selected(pairs, {source for part in held for source in part.source}, inside=False)


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The pairs to train on: as many general ones as of the project."""

    pairs: tuple[tuple[str, str], ...]
    repeats: int
    """How often each pair of the project is among them."""
    replayed: int
    """Different general pairs."""


def mixture(domain: ParallelText, general: ParallelText, seed: int) -> Mixture:
    """Each pass over the project's pairs comes with other general pairs, as long as there are enough of them."""
    own = list(zip(domain.source, domain.target, strict=True))
    replay = list(zip(general.source, general.target, strict=True))
    chance = random.Random(seed)
    chance.shuffle(replay)
    repeats = min(MOST_REPEATS, max(1, len(replay) // len(own)))
    wanted = repeats * len(own)
    chosen = repeated(replay, wanted)
    rows = [*(own * repeats), *chosen]
    chance.shuffle(rows)
    return Mixture(pairs=tuple(rows), repeats=repeats, replayed=len(set(chosen)))


def repeated(rows: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    return [rows[place % len(rows)] for place in range(count)] if rows else []


def write_tsv(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    from qkv.corpus.output import new_file

    with new_file(path) as write:
        for source, target in pairs:
            write(f"{source.replace(chr(9), ' ')}\t{target.replace(chr(9), ' ')}\n")
