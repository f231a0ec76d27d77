"""What the reports on all image models share."""

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
    """A report whose page has a line for each score."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload]

    def __str__(self) -> str:
        return "".join(f"{name}\t{shown_score(value)}\n" for name, value in self.to_dict().items())


def shown_score(value: Any) -> str:
    if isinstance(value, dict):
        return "\t".join(f"{key} {shown_score(each)}" for key, each in value.items())
    return f"{value:.4f}" if isinstance(value, float) else str(value)
