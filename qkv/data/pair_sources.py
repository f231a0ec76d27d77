"""Where sentence pairs are read from: files, and what of them. Nothing is read before it is needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from qkv.data.parallel import ParallelText, iterate_pairs, iterate_two

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class PairSource:
    """Pairs that can be read several times, unless a file is a pipe."""

    files: tuple[Path, ...]
    reading: tuple[str | None, ...]
    """What else decides how the files are read, such as their languages."""
    iterate: Callable[[], Iterator[Pair]] = field(compare=False)

    def can_be_read_again(self) -> bool:
        return all(path.is_file() for path in self.files)

    def read(self) -> ParallelText:
        return in_lists(self.iterate())


def pair_file(path: Path, source: str | None, target: str | None) -> PairSource:
    """One file with both sides."""
    return PairSource(
        files=(path,), reading=(source, target), iterate=lambda: iterate_pairs(path, source, target)
    )


def two_files(source: Path, target: Path) -> PairSource:
    """Two plain files that match line by line."""
    return PairSource(files=(source, target), reading=("lines",), iterate=lambda: iterate_two(source, target))


def swapped(pairs: PairSource, swap: bool) -> PairSource:
    """The pairs, in the other direction if `swap` is set."""
    if not swap:
        return pairs

    def iterate() -> Iterator[Pair]:
        return ((target, source) for source, target in pairs.iterate())

    return PairSource(files=pairs.files, reading=(*pairs.reading, "swapped"), iterate=iterate)


def in_lists(pairs: Iterator[Pair]) -> ParallelText:
    found = list(pairs)
    return ParallelText(source=[source for source, _ in found], target=[target for _, target in found])


def all_of(sources: Sequence[PairSource]) -> Iterator[Pair]:
    return chain.from_iterable(source.iterate() for source in sources)
