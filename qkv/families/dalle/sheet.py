"""Drawings as images: one, or several on a sheet."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qkv.checkpoint.files import write_file
from qkv.checkpoint.outputs import check_new_file
from qkv.data.images import Bytes
from qkv.flags import OptionMessageError

if TYPE_CHECKING:
    from PIL.Image import Image

GAP = 2  # white pixels between the images of a sheet


def image_of(pixels: Bytes) -> "Image":
    """(3, side, side) as a Pillow image."""
    from PIL import Image

    return Image.fromarray(pixels.transpose(1, 2, 0).copy())


def sheet_of(drawings: Sequence[Bytes], scale: int) -> "Image":
    """Arrange the images in rows, on a sheet that is as square as possible."""
    from PIL import Image

    side = drawings[0].shape[1]
    across = math.ceil(math.sqrt(len(drawings)))
    down = math.ceil(len(drawings) / across)
    sheet = Image.new("RGB", (across * (side + GAP) - GAP, down * (side + GAP) - GAP), "white")
    for number, pixels in enumerate(drawings):
        sheet.paste(image_of(pixels), (number % across * (side + GAP), number // across * (side + GAP)))
    return sheet.resize((sheet.width * scale, sheet.height * scale), Image.Resampling.NEAREST)


def png_of(image: "Image") -> bytes:
    content = io.BytesIO()
    image.save(content, format="PNG")
    return content.getvalue()


def write_sheet(path: Path, drawings: Sequence[Bytes], scale: int) -> None:
    write_file(path, png_of(sheet_of(drawings, scale)))


def check_picture_path(path: Path, option: str = "output", *, overwrite: bool = False) -> None:
    """Before minutes of drawing: can this image be written? `option` is the name of the argument that holds the path."""
    if path.suffix.lower() != ".png":
        raise OptionMessageError(f"{{{option}}} must end in .png, but {{name}} does not.", name=path.name)
    check_new_file(option, path, overwrite=overwrite)
