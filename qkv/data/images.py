"""Read image files into memory, unchanged or resized and converted to a common form."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError

from qkv.errors import UserError

Bytes = NDArray[np.uint8]
Colours = Literal["grey", "colour"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
MOST_PIXELS = 50_000_000  # of one file: 200 MB in Pillow, and up to five such copies while it is read
MOST_BYTES = 4_000_000_000  # of all pictures of a part
SIXTEEN_BITS = ("PPM", "PNG")  # formats whose mode I is numbers of 16 bits
CHANNELS: dict[Colours, int] = {"grey": 1, "colour": 3}
MODES: dict[Colours, str] = {"grey": "L", "colour": "RGB"}
GREY_MODES = ("1", "L", "LA", "I;16", "I;16B", "I;16L", "I")
UPRIGHT = {  # by the tag with which a camera says how it was held
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
    """What all pictures of a model have in common."""

    height: int
    width: int
    colours: Colours

    def __str__(self) -> str:
        return f"{self.width} × {self.height} in {self.colours}"

    @property
    def shape(self) -> tuple[int, int, int]:
        return CHANNELS[self.colours], self.height, self.width


def pictures_below(folder: Path) -> list[Path]:
    """Image files, without hidden files and folders, where notebooks and other systems leave copies."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if is_picture(path) and not hidden(path, folder))


def is_picture(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_file()


def hidden(path: Path, folder: Path) -> bool:
    return any(name.startswith(".") for name in path.relative_to(folder).parts)


def form_for(first: Path, size: int | None, colours: Colours | None) -> Form:
    """The form that was asked for, completed from the first image."""
    if size is not None and not 1 <= size <= 4096:
        raise UserError("size must be from 1 to 4096.")
    with opened(first) as picture:
        found: Colours = "grey" if picture.mode in GREY_MODES else "colour"
        if size is not None:
            return Form(size, size, colours or found)
        with damage_named(first):
            whole = upright(picture)
        return Form(whole.height, whole.width, colours or found)


def read_pictures(paths: Sequence[Path], form: Form, *, fit: bool) -> Bytes:
    pictures = room_for(len(paths), form)
    for place, path in enumerate(paths):
        pictures[place] = read_picture(path, form, fit=fit)
    return pictures


def room_for(count: int, form: Form) -> Bytes:
    needed = count * int(np.prod(form.shape))
    if needed > MOST_BYTES:
        raise UserError(
            f"{count:,} pictures of {form} need {needed / 1e9:.1f} GB of memory, more than the "
            f"{MOST_BYTES / 1e9:.0f} that qkv allows: choose a smaller size, or fewer images."
        )
    return np.empty((count, *form.shape), dtype=np.uint8)


def read_picture(path: Path, form: Form, *, fit: bool = False) -> Bytes:
    """One image, (C, height, width). Unless `fit`, an image of another form is an error."""
    wanted = MODES[form.colours]
    with opened(path) as picture, damage_named(path):
        if not fit and not same_mode(picture, wanted):
            raise UserError(
                f"{path} has the mode {picture.mode} and not {wanted} ({form.colours}): {to_fit(form)}"
            )
        if fit:  # a large JPEG is read at a fraction of its size
            picture.draft(wanted, (max(form.width, form.height),) * 2)
        whole = upright(picture)
        if not fit and whole.size != (form.width, form.height):
            raise UserError(
                f"{path} is {whole.width} × {whole.height} pixels large and not {form.width} × {form.height}: "
                f"{to_fit(form)}"
            )
        return channels_first(converted(whole, wanted), form)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Pillow can raise anything on broken files."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise UserError(
            f"{path} is damaged or truncated ({one_line(error)}): replace or remove it."
        ) from None


def upright(picture: Image.Image) -> Image.Image:
    """With its pixels, turned as the camera was held; tags that cannot be read turn nothing."""
    picture.load()
    how = None
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        how = UPRIGHT.get(picture.getexif().get(ExifTags.Base.Orientation, 1))
    return picture if how is None else picture.transpose(how)


def channels_first(picture: Image.Image, form: Form) -> Bytes:
    """At the wanted size.  (C, height, width)"""
    pixels = np.asarray(fitted(picture, form), dtype=np.uint8)
    return pixels.reshape(form.height, form.width, -1).transpose(2, 0, 1)


def to_fit(form: Form) -> str:
    return f"convert it, or choose to fit images to the model, or the size {form.width} for a new model."


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """Open an image by its header, to reject huge images before memory is allocated."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # about odd tags, which do not matter here
            picture = Image.open(path)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder and not a picture.") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UserError(f"{path} is a huge picture: {too_many_pixels()}") from None
    except MemoryError:
        raise
    except Exception as error:  # Pillow can raise anything on broken files
        reason = "no format that Pillow knows" if isinstance(error, UnidentifiedImageError) else error
        raise UserError(f"{path} cannot be read as a picture ({one_line(reason)}).") from None
    with picture:
        check_header(picture, path)
        yield picture


def check_header(picture: Image.Image, path: Path) -> None:
    if picture.width * picture.height > MOST_PIXELS:
        raise UserError(
            f"{path} is a huge picture of {picture.width:,} × {picture.height:,} pixels: {too_many_pixels()}"
        )
    try:
        frames = getattr(picture, "n_frames", 1)
    except Exception as error:
        raise UserError(f"{path} is damaged or truncated ({one_line(error)}).") from None
    if picture.mode == "F" or (picture.mode == "I" and picture.format not in SIXTEEN_BITS):
        raise UserError(
            f"{path} has numbers of 32 bits (mode {picture.mode}), whose white level is unknown: save it with 8 or 16."
        )
    if frames > 1 and picture.format != "MPO":  # phones put smaller views behind the picture itself
        raise UserError(f"{path} is animated or has several pages ({frames}): save one of them as a file.")


def too_many_pixels() -> str:
    return f"make it smaller; qkv reads up to {MOST_PIXELS // 1_000_000} million pixels."


def one_line(error: object) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__


def same_mode(picture: Image.Image, wanted: str) -> bool:
    """Whether the modes are equivalent: black and white is grey, a palette without transparency is colour."""
    return (
        picture.mode == wanted
        or (picture.mode == "1" and wanted == "L")
        or (picture.mode == "P" and wanted == "RGB" and "transparency" not in picture.info)
    )


def converted(picture: Image.Image, wanted: str) -> Image.Image:
    """Transparent places become white, as on paper; 16 bits become 8."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        values = np.asarray(picture).astype(np.float64) / 257
        picture = Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        paper = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(paper, picture)
    return picture if picture.mode == wanted else picture.convert(wanted)


def fitted(picture: Image.Image, form: Form) -> Image.Image:
    """The largest part around the middle that has the wanted proportions, at the wanted size."""
    if picture.size == (form.width, form.height):
        return picture
    scale = min(picture.width / form.width, picture.height / form.height)
    across, down = form.width * scale, form.height * scale
    left, top = (picture.width - across) / 2, (picture.height - down) / 2
    box = (left, top, left + across, top + down)
    return picture.resize((form.width, form.height), Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)
