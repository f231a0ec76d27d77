"""What the reports on all image models share."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from qkv.errors import check_rules
from qkv.evaluation.report import Report
from qkv.flags import OptionMessageError

MOST_SCENES = 10_000


def check_scenes_or_images(scenes: int, images: Any) -> None:
    if bool(scenes) == (images is not None):
        raise OptionMessageError("give either {scenes} with a number, or {images}.")
    check_rules([("scenes", f"must be from 1 to {MOST_SCENES:,}", 0 <= scenes <= MOST_SCENES)])


class PictureReport(Report):
    """A report whose page has a line for each score. Scores of one part follow its name."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload]

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in score_lines(self.to_dict()))


def score_lines(scores: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Names and values in two columns. What is not known is left out."""
    known = {name: value for name, value in scores.items() if value is not None}
    single = [name for name, value in known.items() if not isinstance(value, dict)]
    width = max(map(len, single), default=0)
    for name, value in known.items():
        if isinstance(value, dict):
            yield f"{indent}{name}"
            yield from score_lines(value, f"{indent}  ")
        else:
            yield f"{indent}{name:<{width}}  {shown_score(value)}"


def shown_score(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
