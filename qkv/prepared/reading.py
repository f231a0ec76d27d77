"""Reads sentence pairs once: a few into memory, many into files that all processes and later runs share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from qkv.checkpoint.files import bytes_hash, canonical, file_hash, make_folders, read_sealed, seal, write_json
from qkv.data.pair_sources import Pair, PairSource, all_of, in_lists
from qkv.data.parallel import ParallelText
from qkv.errors import DataError
from qkv.prepared import pairs as stored_pairs
from qkv.prepared.pairs import PairParts, StoredPairs, pair_arrays
from qkv.prepared.parts import Pace, Parts, reserve
from qkv.prepared.place import Place, Say

RECORD_FILE = "record.json"  # written last: the folder is complete
LAYOUT = 1  # of the files; another one is another folder


@dataclass(frozen=True, kw_only=True)
class ReadPairs:
    """The pairs of several sources in turn, and how many each has."""

    pairs: ParallelText
    counts: tuple[int, ...]


def read_pair_sources(
    sources: Sequence[PairSource], place: Place | None, *, weighted: bool = False
) -> ReadPairs:
    """The pairs of all sources: in memory, or in files if they are many or `weighted`, which needs the row of each pair."""
    if place is None or not all(source.can_be_read_again() for source in sources):
        if weighted and place is not None:
            raise DataError("weights need files that can be read again: write the pipe to a file first.")
        return in_memory(sources)
    if not (place.always or weighted) and not place.folder.exists():
        first = list(islice(all_of(sources), stored_pairs.PART_PAIRS + 1))
        if len(first) <= stored_pairs.PART_PAIRS:
            return in_memory(sources, first)
    return stored(sources, place)


def in_memory(sources: Sequence[PairSource], known: list[Pair] | None = None) -> ReadPairs:
    if len(sources) == 1:
        pairs = in_lists(iter(known)) if known is not None else sources[0].read()
        return ReadPairs(pairs=pairs, counts=(len(pairs),))
    parts = [source.read() for source in sources]
    both = {side: [text for part in parts for text in getattr(part, side)] for side in ("source", "target")}
    return ReadPairs(pairs=ParallelText(**both), counts=tuple(map(len, parts)))


def stored(sources: Sequence[PairSource], place: Place) -> ReadPairs:
    identity = identity_of(sources)
    folder = place.folder / f"pairs-{bytes_hash(canonical(identity))[:16]}"
    make_folders(folder)
    parts = Parts(folder, "text")
    with reserve(folder, wait=True):  # another process may be reading the same files
        record = complete_record(parts, verify=place.verify)
        if record is None:
            record = store(sources, parts, place.say)
            write_json(folder / RECORD_FILE, seal({**record, "identity": identity}))
    counts = tuple(record["counts"])
    rows = np.arange(sum(counts), dtype=np.uint32)
    return ReadPairs(
        pairs=StoredPairs.of(PairParts(parts, record["rows_per_part"], len(rows)), rows),
        counts=counts,
    )


def identity_of(sources: Sequence[PairSource]) -> dict[str, Any]:
    """The content of the files and how they are read, but not their names."""
    return {
        "layout": LAYOUT,
        "rows_per_part": stored_pairs.PART_PAIRS,
        "sources": [
            {"files": [file_hash(path) for path in source.files], "reading": list(source.reading)}
            for source in sources
        ],
    }


def complete_record(parts: Parts, *, verify: bool) -> dict[str, Any] | None:
    """What is known of the pairs, if all parts are there and intact."""
    try:
        record = read_sealed(parts.folder / RECORD_FILE)
    except DataError:
        return None
    hashes = record["parts"]
    if verify and any(parts.content_hash(number) != wanted for number, wanted in enumerate(hashes)):
        return None
    return record


def store(sources: Sequence[PairSource], parts: Parts, say: Say) -> dict[str, Any]:
    """Write the parts that are not there yet. Intact ones are those of an earlier process that was stopped."""
    pace = Pace(say, "reading: {:,} pairs")
    counts = [0] * len(sources)

    def counted() -> Iterator[Pair]:
        for number, source in enumerate(sources):
            for pair in source.iterate():
                counts[number] += 1
                yield pair

    pairs, size, hashes = counted(), stored_pairs.PART_PAIRS, list[str]()
    while rows := list(islice(pairs, size)):
        number = len(hashes)
        known = parts.content_hash(number)
        if known is None or len(parts.open(number)["lengths"]) != len(rows):
            parts.write(
                number, pair_arrays([one.strip() for one, _ in rows], [two.strip() for _, two in rows])
            )
            known = parts.content_hash(number)
        hashes.append(known or "")
        pace(sum(counts))
    return {"counts": counts, "rows_per_part": size, "parts": hashes}
