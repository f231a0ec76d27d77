"""Images that a function takes as a list: paths, Pillow images and arrays."""

from typing import Any

from PIL import Image

from qkv.data.images import (
    MODES,
    Bytes,
    Form,
    allocate,
    channels_first,
    convert_mode,
    read_picture,
    rotate_upright,
)
from qkv.data.python_images import image_rows, picture_of
from qkv.data.python_rows import Row, as_path, is_path


def fitted_images(given: Any, name: str, form: Form) -> Bytes:
    """Images of any size as a model reads them.  (N, C, height, width)"""
    rows = list(image_rows(given, name, None))
    pictures = allocate(len(rows), form)
    for place, row in enumerate(rows):
        pictures[place] = fitted_image(row, form)
    return pictures


def fitted_image(row: Row, form: Form) -> Bytes:
    if is_path(row.value):
        return read_picture(as_path(row.value), form, fit=True)
    picture = row.value if isinstance(row.value, Image.Image) else picture_of(row)
    return channels_first(convert_mode(rotate_upright(picture), MODES[form.colours]), form)
