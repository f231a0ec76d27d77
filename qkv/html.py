"""Small HTML tables for notebooks. All text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape  # also of quotes

CELL = "padding:2px 10px 2px 0;vertical-align:top;"


def table(rows: Iterable[Sequence[object]], columns: Sequence[str] = (), *, texts: int = 1) -> str:
    """A table. The first `texts` columns are text, the others are numbers, which are aligned on the right."""
    head = f"<thead>{row_of(columns, 'th', texts)}</thead>" if columns else ""
    body = "".join(row_of(row, "td", texts) for row in rows)
    return f'<table style="border-collapse:collapse;margin:4px 0">{head}<tbody>{body}</tbody></table>'


def row_of(cells: Sequence[object], tag: str, texts: int) -> str:
    shown = "".join(
        f'<{tag} style="{CELL}text-align:{"left" if place < texts else "right"}">{text(cell)}</{tag}>'
        for place, cell in enumerate(cells)
    )
    return f"<tr>{shown}</tr>"


def text(value: object) -> str:
    """Escaped, with unprintable characters as dots."""
    return escape("".join(each if each.isprintable() or each == "\n" else "·" for each in str(value)))


def line(value: object) -> str:
    return f'<div style="margin:4px 0">{text(value)}</div>'


def folded(title: str, inside: str) -> str:
    """A part that opens with a click."""
    return f'<details style="margin:4px 0"><summary>{text(title)}</summary>{inside}</details>'
