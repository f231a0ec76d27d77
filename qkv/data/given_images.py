"""Images as people have them in Python: files, Pillow images, and arrays."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from qkv.data.given import as_path, is_file, kind_name
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
from qkv.errors import InputError, InputTypeError


def fitted_images(given: Any, name: str, form: Form) -> Bytes:
    """Images of any size as a model reads them.  (N, C, height, width)"""
    if isinstance(given, str | bytes | Path | Image.Image) or not hasattr(given, "__iter__"):
        raise InputTypeError(f"{name} is {kind_name(given)}; expected a list of images.")
    images = list(given)
    if not images:
        raise InputError(f"{name} is empty: give at least one image.")
    pictures = allocate(len(images), form)
    for place, each in enumerate(images):
        pictures[place] = fitted_image(each, f"{name}[{place}]", form)
    return pictures


def fitted_image(given: Any, where: str, form: Form) -> Bytes:
    if is_file(given):
        return read_picture(as_path(given), form, fit=True)
    picture = given if isinstance(given, Image.Image) else as_picture(given, where)
    return channels_first(convert_mode(rotate_upright(picture), MODES[form.colours]), form)


def as_picture(given: Any, where: str) -> Image.Image:
    """From an array of bytes: (height, width), or with 3 colours last, as Pillow and matplotlib have them."""
    if not hasattr(given, "__array__"):
        raise InputTypeError(f"{where} is {kind_name(given)}; expected a path, a Pillow image or an array.")
    array = np.asarray(given)
    if array.dtype != np.uint8 or not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        raise InputError(
            f"{where} is an array of {array.dtype} {array.shape}; expected bytes of shape (height, width) or (height, "
            "width, 3)."
        )
    return Image.fromarray(array)
