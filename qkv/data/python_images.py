"""Images of a Python program, written to folders that the readers read back: PNG is lossless."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from qkv.data.captioned import CAPTIONS_FILE
from qkv.data.images import ENDINGS, rotate_upright
from qkv.data.labelled_pictures import CLASSES_FILE
from qkv.data.labels import LABEL_NAMES
from qkv.data.python_rows import Row, as_path, find_column, first_of, is_path, rows_of, shown
from qkv.data.python_texts import class_names, label_text, peek, some_text
from qkv.errors import InputError, InputTypeError, type_name

IMAGE_NAMES = ("image", "img", "picture", "pixels", "images")
CAPTION_NAMES = ("caption", "text", "captions", "description")
EXPECTED = "an image: a PIL image, an array or a path"


def write_images(folder: Path, data: Any, argument: str, column: str | None) -> None:
    """Write images without labels. Rows with more than an image have a column of images."""
    for number, row in enumerate(image_rows(data, argument, column)):
        write_image(row, folder / f"{number:08}")


def write_classes(folder: Path, data: Any, argument: str, columns: tuple[str | None, str | None]) -> None:
    """Write labeled images, a folder for each class. A file names the classes, which may contain any character."""
    first, rows = peek(rows_of(data, argument))
    names = None
    if isinstance(first.value, dict):
        names = class_names(
            data, pair_columns(first.value, argument, columns, LABEL_NAMES, "label_column")[1]
        )
    places: dict[str, str] = {}
    for number, (row, label) in enumerate(
        both_of(rows, first, argument, columns, LABEL_NAMES, "an image and a label", "label_column")
    ):
        name = label_text(label, 0, names)
        place = places.setdefault(name, f"{len(places):05}")
        (folder / place).mkdir(exist_ok=True)
        write_image(row, folder / place / f"{number:08}")
    (folder / CLASSES_FILE).write_text(json.dumps({place: name for name, place in places.items()}), "utf-8")


def write_captioned(folder: Path, data: Any, argument: str, columns: tuple[str | None, str | None]) -> None:
    """Write images with captions. A list of captions describes one image several times."""
    first, rows = peek(rows_of(data, argument))
    with open(folder / CAPTIONS_FILE, "w", encoding="utf-8", newline="\n") as file:
        for number, (row, caption) in enumerate(
            both_of(rows, first, argument, columns, CAPTION_NAMES, "an image and a caption", "caption_column")
        ):
            name = write_image(row, folder / f"{number:08}").name
            value = caption.item(0)
            several = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
            for text in several:
                file.write(f"{name}\t{' '.join(some_text(Row(caption.name, text)).split())}\n")


def both_of(
    rows: Iterator[Row],
    first: Row,
    argument: str,
    columns: tuple[str | None, str | None],
    known: tuple[str, ...],
    expected: str,
    parameter: str,
) -> Iterator[tuple[Row, Row]]:
    """The image of each row, and what belongs to it as a row of one element."""
    keys: tuple[Any, Any] = (0, 1)
    if isinstance(first.value, dict):
        keys = pair_columns(first.value, argument, columns, known, parameter)
    for row in rows:
        value = row.value
        if not isinstance(value, dict | tuple | list):
            raise InputTypeError(f"{row.name} is {type_name(value)}; expected {expected}.")
        if not isinstance(value, dict) and len(value) != 2:
            items = "1 item" if len(value) == 1 else f"{len(value)} items"
            raise InputError(f"{row.name} has {items}; expected {expected}.")
        yield Row(f"{row.name}[{keys[0]!r}]", row.item(keys[0])), Row(row.name, [row.item(keys[1])])


def pair_columns(
    first: dict[str, Any],
    argument: str,
    columns: tuple[str | None, str | None],
    known: tuple[str, ...],
    parameter: str,
) -> tuple[str, str]:
    names = [str(name) for name in first]
    for wanted in columns:
        if wanted is not None:
            find_column(wanted, names, argument)
    image = columns[0] or first_of(IMAGE_NAMES, names)
    other = columns[1] or first_of(known, [name for name in names if name != image])
    if image is None or other is None:
        missing = "image_column" if image is None else parameter
        raise InputError(f"{argument} has the columns {shown(names)}. Choose the {missing}.")
    return image, other


def image_rows(data: Any, argument: str, column: str | None) -> Iterator[Row]:
    first, rows = peek(rows_of(data, argument))
    key = None
    if isinstance(first.value, dict):
        names = [str(name) for name in first.value]
        key = find_column(column, names, argument) if column else first_of(IMAGE_NAMES, names)
        if key is None:
            raise InputError(f"{argument} has the columns {shown(names)}. Choose the image_column.")
    for row in rows:
        yield row if key is None else Row(f"{row.name}[{key!r}]", row.item(key))


def write_image(row: Row, stem: Path) -> Path:
    """Write one image as it is. Its file has this name, with an ending."""
    value = row.value
    if is_path(value):
        return copy_image(row, as_path(value), stem)
    picture = value if isinstance(value, Image.Image) else picture_of(row)
    path = stem.with_suffix(".png")
    try:
        picture = rotate_upright(picture)
        if picture.mode not in ("1", "L", "LA", "I;16", "I", "P", "RGB", "RGBA"):
            if picture.mode == "F":
                raise InputError(f"{row.name} has 32 bits per pixel. Convert it to 8 bits.")
            picture = picture.convert("RGB")
        picture.save(path, compress_level=1)
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, InputError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise InputError(f"{row.name} cannot be read as an image ({error}).") from None
    return path


def copy_image(row: Row, path: Path, stem: Path) -> Path:
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{row.name} is '{path}', which is not an image file.")
    if not path.is_file():
        raise InputError(f"{row.name} is '{path}', but there is no such file.")
    copied: Path = shutil.copyfile(path, stem.with_suffix(path.suffix))
    return copied


def picture_of(row: Row) -> Image.Image:
    """An array of (height, width), (height, width, channels) or (channels, height, width)."""
    value = row.value
    if value is None or isinstance(value, bytes) or not hasattr(value, "__array__"):
        raise InputTypeError(f"{row.name} is {type_name(value)}; expected {EXPECTED}.")
    pixels = np.asarray(value)
    if pixels.dtype != np.uint8:
        raise InputTypeError(f"{row.name} has values of type {pixels.dtype}; expected uint8, from 0 to 255.")
    if pixels.ndim == 3 and pixels.shape[-1] not in (1, 3) and pixels.shape[0] in (1, 3):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[-1] not in (3, 4)) or not pixels.size:
        raise InputError(
            f"{row.name} has the shape {pixels.shape}; expected (height, width) or (height, width, 3)."
        )
    return Image.fromarray(np.ascontiguousarray(pixels))
