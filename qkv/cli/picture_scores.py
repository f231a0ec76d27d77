"""What every `qkv evaluate` of image models shares: the check of its data, and the output of scores."""

import json
from pathlib import Path
from typing import Any

from qkv.errors import QkvError

MOST_SCENES = 10_000


def check_scenes_or_images(scenes: int, images: Path | None) -> None:
    if bool(scenes) == (images is not None):
        raise QkvError("give either --scenes with a number, or --images.")
    if scenes < 0 or scenes > MOST_SCENES:
        raise QkvError(f"--scenes must be from 1 to {MOST_SCENES:,}.")


def show_scores(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for name, value in found.items():
        if isinstance(value, dict):
            print(f"{name}\t" + "\t".join(f"{key} {format_score(each)}" for key, each in value.items()))
        else:
            print(f"{name}\t{format_score(value)}")


def format_score(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
