"""`qkv evaluate` of an image classifier."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qkv.cli.options import read_options
from qkv.cli.picture_scores import check_scenes_or_images, show_scores
from qkv.cli.threads import use_threads
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.families.vit.product import ImageClassifier


@dataclass(frozen=True, kw_only=True)
class EvaluateClassifier:
    model: Positional[Path]
    """Folder of an image classifier."""
    images: Path | None = None
    """Folder with one folder per class, or idx files, as for training. Its test part is used, else its validation part,
    else all of it. Images are resized to fit the model."""
    scenes: int = 0
    """Evaluate on this many built-in scenes instead, for a classifier that was trained on scenes."""
    json: bool = False
    """Print everything as one JSON document."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateClassifier,
        arguments,
        prog="qkv evaluate",
        description="Measure the accuracy of an image classifier.",
    )
    check_scenes_or_images(command.scenes, command.images)
    use_threads(command.running.threads)
    from qkv.families.loading import load_for
    from qkv.families.vit.product import ImageClassifier
    from qkv.progress.terminal import warn

    model = load_for(command.model, "evaluate", ImageClassifier, command.running, warn)
    show_scores(scores_of(command, model), command.json)


def scores_of(command: EvaluateClassifier, model: ImageClassifier) -> dict[str, Any]:
    from qkv.data.labelled_pictures import read_evaluation_images
    from qkv.data.worlds.labelled_scenes import evaluation_scenes
    from qkv.progress.terminal import warn

    if command.images is None:
        name, part = "test", evaluation_scenes(command.scenes, model._form).with_class_order(model.classes)
    else:
        name, part = read_evaluation_images(command.images, model._form, model.classes)
        if name == "all":
            warn(f"{command.images} has no test or validation part: it may hold images of the training data.")
    return {"part": name, "pictures": len(part), "accuracy": round(model._accuracy(part), 5)}
