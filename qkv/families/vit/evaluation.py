"""Evaluate an image classifier: its accuracy on labeled images."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qkv.data.given import check_length, items_of
from qkv.data.given_images import fitted_images
from qkv.data.labelled_pictures import Labelled, read_evaluation_images
from qkv.data.python_rows import as_path, is_path
from qkv.data.worlds.labelled_scenes import evaluation_scenes
from qkv.errors import InputError, InputTypeError
from qkv.evaluation.display import SILENT, Display
from qkv.evaluation.evaluator import NOTHING, Evaluator
from qkv.evaluation.picture_report import PictureReport, check_scenes_or_images
from qkv.families.products import open_to_evaluate
from qkv.families.vit.evaluation_options import ImageEvaluation
from qkv.families.vit.product import ImageClassifier
from qkv.flags import OptionMessageError
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True, repr=False)
class ImageClassificationReport(PictureReport):
    """The accuracy of an image classifier, from `qkv.evaluate`.

    Example:
        >>> from PIL import Image
        >>> report = qkv.evaluate("runs/shapes", images=[Image.new("L", (12, 8))], labels=[0])
        >>> report.images, report.accuracy in (0, 1)
        (1, True)
    """

    part: str
    """The part of the data that was used: test, valid, or all."""
    images: int
    """The number of images."""
    accuracy: float
    """The share of images whose likeliest class is their own, from 0 to 1."""


def evaluate_images(
    model: Any,
    options: ImageEvaluation = ImageEvaluation(),  # noqa: B008  (it is frozen)
    running: Running = EXACT,
    display: Display = SILENT,
    given: Mapping[str, Any] = NOTHING,
) -> ImageClassificationReport:
    """Measure the accuracy on a folder of images, on images with labels, or on built-in scenes."""
    check_scenes_or_images(options.scenes, options.images)
    classifier, _ = open_to_evaluate(model, ImageClassifier, running, display.warn)
    name, part = labelled_images(options, classifier, given.get("labels"), display)
    return ImageClassificationReport(
        part=name, images=len(part), accuracy=round(classifier._accuracy(part), 5)
    )


EVALUATOR = Evaluator(
    options=ImageEvaluation, evaluate=evaluate_images, positional=("images", "labels"), more=("labels",)
)


def labelled_images(
    options: ImageEvaluation, classifier: ImageClassifier, labels: Any, display: Display
) -> tuple[str, Labelled]:
    form, classes = classifier._form, classifier.classes
    if labels is not None and (options.images is None or is_path(options.images)):
        raise OptionMessageError("{labels} are for a list of {images}: a folder has one folder per class.")
    if options.images is None:
        return "test", evaluation_scenes(options.scenes, form).with_class_order(classes)
    if not is_path(options.images):
        if labels is None:
            raise OptionMessageError("a list of {images} needs {labels}, one for each.")
        pictures = fitted_images(options.images, "images", form)
        return "all", Labelled(pictures, numbers_of(labels, classes, len(pictures)), classes)
    folder = as_path(options.images)
    name, part = read_evaluation_images(folder, form, classes)
    if name == "all":
        display.warn(f"{folder} has no test or validation part: it may hold images of the training data.")
    return name, part


def numbers_of(labels: Any, classes: tuple[str, ...], count: int) -> Any:
    """The number of each label. Labels are names of classes, or their numbers."""
    found = items_of(labels, "labels", "classes")
    check_length(len(found), "labels", count, "images")
    numbers = []
    for place, label in enumerate(found):
        if isinstance(label, str) and label in classes:
            numbers.append(classes.index(label))
        elif isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(classes):
            numbers.append(label)
        elif isinstance(label, str | int):
            known = ", ".join(classes[:8])
            raise InputError(f"labels[{place}] is {label!r}, which is no class of the model: it has {known}.")
        else:
            raise InputTypeError(
                f"labels[{place}] is {type(label).__name__}; expected a class or its number."
            )
    return np.array(numbers, dtype=np.int64)
