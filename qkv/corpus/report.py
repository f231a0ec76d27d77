"""What was kept and what was dropped, with examples."""

import heapq
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qkv.corpus.duplicates import fingerprint
from qkv.corpus.records import Record

EXAMPLES = 5  # for each reason


@dataclass(frozen=True, kw_only=True)
class CleanReport:
    total: int
    kept: int
    dropped: Mapping[str, int]  # in the order of testing
    examples: Mapping[str, list[tuple[str, str]]]
    settings: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.total,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "examples": {
                reason: [{"source": source, "target": target} for source, target in found]
                for reason, found in self.examples.items()
            },
            "settings": dict(self.settings),
        }


class Examples:
    """A few pairs for each reason, chosen by a hash, so that they come from the whole corpus."""

    def __init__(self, most: int = EXAMPLES):
        self.most = most
        self.found: dict[str, list[tuple[int, str, str]]] = defaultdict(list)

    def add(self, reason: str, record: Record) -> None:
        entry = (-fingerprint(record.line()), record.source, record.target)
        kept = self.found[reason]
        if len(kept) < self.most:
            heapq.heappush(kept, entry)
        else:
            heapq.heappushpop(kept, entry)

    def to_dict(self) -> dict[str, list[tuple[str, str]]]:
        return {
            reason: [(source, target) for _, source, target in sorted(found, reverse=True)]
            for reason, found in self.found.items()
        }
