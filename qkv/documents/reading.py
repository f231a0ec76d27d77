"""What readers need to know besides the bytes of a file."""

from dataclasses import dataclass, fields
from typing import Any

from qkv.errors import check_rules

LINE_WIDTH = 42  # columns: what broadcasters ask for


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What cannot be seen from a file."""

    column: str | None = None
    """In tables (.csv, .tsv, .jsonl), the column that is translated."""
    output_column: str = "translation"
    """In tables, the column for the translations. The same column as the source is replaced."""
    line_width: int = LINE_WIDTH
    """In subtitles, the most characters in a line. Wide characters such as Chinese ones count 2."""

    def __post_init__(self) -> None:
        check_rules([("line_width", "must be from 10 to 1,000", 10 <= self.line_width <= 1_000)])


@dataclass(frozen=True, kw_only=True)
class Reading(ReadingOptions):
    target: str | None = None
    """The language that the file is translated into."""

    @classmethod
    def of(cls, options: ReadingOptions, target: str | None) -> "Reading":
        given: dict[str, Any] = {each.name: getattr(options, each.name) for each in fields(ReadingOptions)}
        return cls(target=target, **given)


DEFAULT_READING = Reading()
