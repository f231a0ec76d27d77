"""What a translation memory holds, and what it finds."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

Level = Literal["context", "exact", "adapted", "fuzzy"]
LEVELS: tuple[Level, ...] = ("context", "exact", "adapted", "fuzzy")  # the best first


@dataclass(frozen=True, kw_only=True)
class Entry:
    source: str
    target: str
    context: str = ""
    origin: str = ""
    date: datetime | None = None
    """None for the time when it is added."""


@dataclass(frozen=True, kw_only=True)
class MemoryMatch:
    """A translation that a memory found, and how well its source matches.

    Example:
        >>> with qkv.Memory.open("matches.qkvm") as memory:
        ...     _ = memory.add("Page 1", "Seite 1")
        ...     match = memory.lookup("Page 12")
        >>> match.level, match.source, match.target
        ('adapted', 'Page 1', 'Seite 12')
    """

    level: Level
    """context: the same text in the same context; exact: the same text; adapted: the same text but for numbers and placeholders,
    which are replaced in the target; fuzzy: a similar text, whose target is not a translation of what was searched."""
    source: str
    """The source text in the memory."""
    target: str
    score: float
    """The similarity of the source texts, from 0 to 1."""
    context: str
    origin: str
    """Where the entry came from, such as the name of a file."""
    date: str
    """When the entry was last changed, in UTC: 2026-01-31T12:00:00Z."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, as `qkv memory search` prints them."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Added:
    """What became of entries that were added to a memory."""

    read: int
    new: int
    updated: int
    """Entries that replaced or confirmed what the memory had. The others were older than that."""


def date_text(date: datetime) -> str:
    """In UTC and always of the same length, so that texts sort as dates do."""
    return date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
