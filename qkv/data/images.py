"""Read image files into memory, unchanged or resized and converted to a common form."""

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError

from qkv.errors import DataError, InputError, InputTypeError, QkvError

Bytes = NDArray[np.uint8]
Colours = Literal["grey", "colour"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
MAX_PIXELS = 50_000_000  # per file: 200 MB in Pillow, with up to five copies while it is read
MAX_BYTES = 4_000_000_000  # for all images of a part
SIXTEEN_BITS = ("PPM", "PNG")  # formats in which mode I means 16 bits
CHANNELS: dict[Colours, int] = {"grey": 1, "colour": 3}
MODES: dict[Colours, str] = {"grey": "L", "colour": "RGB"}
GREY_MODES = ("1", "L", "LA", "I;16", "I;16B", "I;16L", "I")
# Files that qkv/data/python_images.py wrote, and the number of the image.
WRITTEN = re.compile(r"/training/(?:python-)?data/images/(?:(train|valid)/\d{5}/)?(\d{8})\.\w+$")
ROTATIONS = {  # by the EXIF orientation
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class Form:
    """The size and color mode that all images of a model share."""

    height: int
    width: int
    colours: Colours

    def __str__(self) -> str:
        return f"{self.width} × {self.height} in {self.colours}"

    @property
    def shape(self) -> tuple[int, int, int]:
        return CHANNELS[self.colours], self.height, self.width


def find_images(folder: Path) -> list[Path]:
    """All image files below a folder. Hidden files and folders are skipped, because some tools leave copies there."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if is_picture(path) and not is_hidden(path, folder))


def is_picture(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_file()


def is_hidden(path: Path, folder: Path) -> bool:
    return any(name.startswith(".") for name in path.relative_to(folder).parts)


def choose_form(first: Path, size: int | None, colours: Colours | None) -> Form:
    """The requested form, completed from the first image."""
    if size is not None and not 1 <= size <= 4096:
        raise DataError("size must be from 1 to 4096.")
    with open_image(first) as picture:
        found: Colours = "grey" if picture.mode in GREY_MODES else "colour"
        if size is not None:
            return Form(size, size, colours or found)
        with report_damage(first):
            whole = rotate_upright(picture)
        return Form(whole.height, whole.width, colours or found)


def read_pictures(paths: Sequence[Path], form: Form, *, fit: bool) -> Bytes:
    pictures = allocate(len(paths), form)
    for place, path in enumerate(paths):
        pictures[place] = read_picture(path, form, fit=fit)
    return pictures


def allocate(count: int, form: Form) -> Bytes:
    needed = count * int(np.prod(form.shape))
    if needed > MAX_BYTES:
        raise DataError(
            f"{count:,} images of {form} need {needed / 1e9:.1f} GB of memory, more than the "
            f"{MAX_BYTES / 1e9:.0f} that qkv allows: choose a smaller size, or fewer images."
        )
    return np.empty((count, *form.shape), dtype=np.uint8)


def read_picture(path: Path, form: Form, *, fit: bool = False) -> Bytes:
    """One image, (C, height, width). Unless `fit`, an image of another form is an error."""
    with open_image(path) as picture, report_damage(path):
        return in_form(picture, form, fit=fit, name=image_name(path))


def image_name(path: Path) -> str:
    """The name of an image in messages: its path, or its place in the list of a Python program, which was written to files."""
    found = WRITTEN.search(path.as_posix())
    return str(path) if found is None else f"{'valid' if found[1] == 'valid' else 'images'}[{int(found[2])}]"


def in_form(picture: Image.Image, form: Form, *, fit: bool, name: str) -> Bytes:
    """An image that is open, (C, height, width)."""
    wanted = MODES[form.colours]
    if not fit and not same_mode(picture, wanted):
        raise DataError(
            f"{name} has the mode {picture.mode} instead of {wanted} ({form.colours}): {how_to_fit(form)}"
        )
    if fit:  # decode a large JPEG at a fraction of its size
        picture.draft(wanted, (max(form.width, form.height),) * 2)
    whole = rotate_upright(picture)
    if not fit and whole.size != (form.width, form.height):
        raise DataError(
            f"{name} is {whole.width} × {whole.height} pixels instead of {form.width} × {form.height}: "
            f"{how_to_fit(form)}"
        )
    return channels_first(convert_mode(whole, wanted), form)


def picture_from(given: Any, form: Form, *, fit: bool, name: str) -> Bytes:
    """An image from a path, from a Pillow image, or from an array. `name` is for messages.

    An array is (height, width) or (height, width, channels), of bytes or of numbers from 0 to 1; or (channels, height,
    width) if it has exactly the form of the model.
    """
    if isinstance(given, str | os.PathLike):
        return read_picture(Path(given), form, fit=fit)
    if isinstance(given, Image.Image):
        return in_form(given, form, fit=fit, name=name)
    pixels = np.asarray(given)
    if np.issubdtype(pixels.dtype, np.floating):
        if not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 1):
            raise InputError(f"{name} has numbers outside 0 to 1: scale them, or give bytes.")
        pixels = np.rint(pixels * 255).astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise InputTypeError(
            f"{name} has the type {pixels.dtype}; expected bytes (uint8) or numbers from 0 to 1."
        )
    if pixels.shape == form.shape and pixels.shape[-1] not in (3, 4):
        return pixels
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim != 2 and (pixels.ndim != 3 or pixels.shape[2] not in (3, 4)):
        raise InputError(
            f"{name} has the shape {pixels.shape}; expected (height, width) or (height, width, channels)."
        )
    return in_form(Image.fromarray(pixels), form, fit=fit, name=name)


def is_image(value: Any) -> bool:
    """A path, a Pillow image, or the array of one image; more channels than an image has are several images."""
    if isinstance(value, str | os.PathLike | Image.Image):
        return True
    shape = tuple(getattr(value, "shape", ()))
    return len(shape) == 2 or (len(shape) == 3 and (shape[2] in (1, 3, 4) or shape[0] in (1, 3)))


@contextmanager
def report_damage(path: Path) -> Iterator[None]:
    """Turn any error of Pillow on a broken file into a QkvError."""
    try:
        yield
    except (QkvError, MemoryError):
        raise
    except Exception as error:
        raise DataError(
            f"{image_name(path)} is damaged or truncated ({error_text(error)}): replace or remove it."
        ) from None


def rotate_upright(picture: Image.Image) -> Image.Image:
    """Load an image and rotate it by its EXIF orientation. Unreadable tags are ignored."""
    picture.load()
    how = None
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        how = ROTATIONS.get(picture.getexif().get(ExifTags.Base.Orientation, 1))
    return picture if how is None else picture.transpose(how)


def channels_first(picture: Image.Image, form: Form) -> Bytes:
    """The image at the size of the form.  (C, height, width)"""
    pixels = np.asarray(crop_and_resize(picture, form), dtype=np.uint8)
    return pixels.reshape(form.height, form.width, -1).transpose(2, 0, 1)


def how_to_fit(form: Form) -> str:
    return f"convert it, fit images to the model with `fit`, or train a new model with `size` {form.width}."


@contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """Open an image by its header, to reject huge images before memory is allocated."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # about unusual tags
            picture = Image.open(path)
    except FileNotFoundError:
        raise DataError(f"there is no file {image_name(path)}.") from None
    except IsADirectoryError:
        raise DataError(f"{image_name(path)} is a folder, not an image.") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise DataError(f"{image_name(path)} is too large: {too_many_pixels()}") from None
    except MemoryError:
        raise
    except Exception as error:  # Pillow can raise anything on broken files
        reason = "unknown format" if isinstance(error, UnidentifiedImageError) else error
        raise DataError(f"{image_name(path)} cannot be read as an image ({error_text(reason)}).") from None
    with picture:
        check_header(picture, path)
        yield picture


def check_header(picture: Image.Image, path: Path) -> None:
    if picture.width * picture.height > MAX_PIXELS:
        raise DataError(
            f"{image_name(path)} has {picture.width:,} × {picture.height:,} pixels: {too_many_pixels()}"
        )
    try:
        frames = getattr(picture, "n_frames", 1)
    except Exception as error:
        raise DataError(f"{image_name(path)} is damaged or truncated ({error_text(error)}).") from None
    if picture.mode == "F" or (picture.mode == "I" and picture.format not in SIXTEEN_BITS):
        raise DataError(
            f"{image_name(path)} has 32 bits per pixel (mode {picture.mode}), so its white level is unknown: save it with 8 or 16 bits."
        )
    if frames > 1 and picture.format != "MPO":  # phones add smaller versions of the image
        raise DataError(
            f"{image_name(path)} is animated or has several pages ({frames}): save one of them as a separate file."
        )


def too_many_pixels() -> str:
    return f"make it smaller; qkv reads up to {MAX_PIXELS // 1_000_000} million pixels."


def error_text(error: object) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__


def same_mode(picture: Image.Image, wanted: str) -> bool:
    """Whether the mode is equivalent: black and white counts as grey, an opaque palette as color."""
    return (
        picture.mode == wanted
        or (picture.mode == "1" and wanted == "L")
        or (picture.mode == "P" and wanted == "RGB" and "transparency" not in picture.info)
    )


def convert_mode(picture: Image.Image, wanted: str) -> Image.Image:
    """Convert to a mode. Transparent pixels become white, and 16 bits become 8."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        values = np.asarray(picture).astype(np.float64) / 257
        picture = Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return picture if picture.mode == wanted else picture.convert(wanted)


def crop_and_resize(picture: Image.Image, form: Form) -> Image.Image:
    """Crop the largest centered part with the right aspect ratio, and resize it."""
    if picture.size == (form.width, form.height):
        return picture
    scale = min(picture.width / form.width, picture.height / form.height)
    across, down = form.width * scale, form.height * scale
    left, top = (picture.width - across) / 2, (picture.height - down) / 2
    box = (left, top, left + across, top + down)
    return picture.resize((form.width, form.height), Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)


def hash_of(*arrays: Bytes | NDArray[np.int64], words: Sequence[str] = ()) -> str:
    """A fingerprint of images and their labels."""
    digest = sha256("\0".join(words).encode())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
