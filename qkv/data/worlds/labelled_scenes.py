"""Built-in scenes for a classifier: pictures of one thing, whose class is its colour and shape."""

import numpy as np

from qkv.data.images import Form
from qkv.data.labelled_pictures import Labelled, LabelledParts
from qkv.data.worlds.scenes import COLOURS, SHAPES, SIDE, UNSEEN, Part, pictures
from qkv.errors import UserError

CLASSES = tuple(
    f"{colour} {shape}" for colour in COLOURS for shape in SHAPES if (colour, shape) not in UNSEEN
)


def labelled_scenes(count: int, side: int) -> LabelledParts:
    """So many to train on, and a tenth of that in each of the other parts."""
    check_side(side)
    return LabelledParts(
        train=_part("train", count, side),
        valid=_part("valid", count // 10, side),
        test=_part("test", count // 10, side),
    )


def scenes_to_judge(count: int, form: Form) -> Labelled:
    """So many of the test part, for a model whose pictures have that form."""
    if form != Form(form.height, form.height, "colour"):
        raise UserError(
            f"built-in scenes are square and coloured, but the model's images are {form}: give image files."
        )
    check_side(form.height)
    return _part("test", count, form.height)


def check_side(side: int) -> None:
    if side % SIDE or not SIDE <= side <= 8 * SIDE:
        raise UserError(f"built-in scenes are {SIDE} pixels large, or a multiple of that: not {side}.")


def _part(part: Part, count: int, side: int) -> Labelled:
    drawn = list(pictures(part, count, 1, side, most_things=1))
    labels = [CLASSES.index(f"{each.scene.things[0].colour} {each.scene.things[0].shape}") for each in drawn]
    return Labelled(np.stack([each.pixels for each in drawn]), np.array(labels, dtype=np.int64), CLASSES)
