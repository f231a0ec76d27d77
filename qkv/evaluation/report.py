"""What all reports of `qkv.evaluate` share."""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any

from qkv import html


class Report(ABC):
    """The result of `qkv.evaluate`. Each kind of model has its own subclass with its scores as attributes.

    `print(report)` shows what `qkv evaluate` prints, and a notebook shows tables.

    Example:
        >>> report = qkv.evaluate("runs/gpt", text=["the cat danced"])
        >>> isinstance(report, qkv.Report)
        True
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All scores, as the JSON document of the command."""

    @abstractmethod
    def __str__(self) -> str: ...

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>\n{self}"

    def _repr_html_(self) -> str:
        return html.table(
            (name.replace("_", " "), *cells_of(value)) for name, value in self.to_dict().items()
        )


def cells_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return ["; ".join(f"{key} {cell_of(each)}" for key, each in value.items())]
    return [cell_of(value)]


def cell_of(value: Any) -> str:
    return f"{value:,.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def present_fields(report: Any) -> dict[str, Any]:
    """The fields of a dataclass that are known and shown."""
    return {
        each.name: getattr(report, each.name)
        for each in fields(report)
        if each.repr and getattr(report, each.name) is not None
    }
