"""Built-in scenes for image classifiers: one object, whose class is its color and shape."""

import numpy as np

from qkv.data.images import Form
from qkv.data.labelled_pictures import Labelled, LabelledParts
from qkv.data.worlds.scenes import COLOURS, SHAPES, SIDE, UNSEEN, Part, pictures
from qkv.errors import DataError

CLASSES = tuple(
    f"{colour} {shape}" for colour in COLOURS for shape in SHAPES if (colour, shape) not in UNSEEN
)


def labelled_scenes(count: int, side: int) -> LabelledParts:
    """`count` scenes to train on, and a tenth of that in each of the other parts."""
    check_side(side)
    return LabelledParts(
        train=_part("train", count, side),
        valid=_part("valid", count // 10, side),
        test=_part("test", count // 10, side),
    )


def evaluation_scenes(count: int, form: Form) -> Labelled:
    """`count` scenes of the test part, for a model with this image form."""
    if form != Form(form.height, form.height, "colour"):
        raise DataError(
            f"built-in scenes are square and colored, but the model's images are {form}: give image files."
        )
    check_side(form.height)
    return _part("test", count, form.height)


def check_side(side: int) -> None:
    if side % SIDE or not SIDE <= side <= 8 * SIDE:
        raise DataError(
            f"the side of built-in scenes must be {SIDE} pixels or a multiple of that, not {side}."
        )


def _part(part: Part, count: int, side: int) -> Labelled:
    images = list(pictures(part, count, 1, side, most_things=1))
    labels = [CLASSES.index(f"{each.scene.things[0].colour} {each.scene.things[0].shape}") for each in images]
    return Labelled(np.stack([each.pixels for each in images]), np.array(labels, dtype=np.int64), CLASSES)
