"""Pictures with classes: folders of class-named folders, idx files as MNIST has them. In memory as bytes."""

import gzip
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
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
GREY_MODES = ("1", "L", "LA", "I;16", "I")
UPRIGHT = {  # by the tag with which a camera says how it was held
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
TRAIN, VALID, TEST = "train", ("val", "valid", "validation", "dev"), ("test", "t10k")


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


@dataclass(frozen=True)
class Labelled:
    """Pictures, each of one class."""

    pictures: Bytes  # (N, C, height, width)
    labels: NDArray[np.int64]  # (N)
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def form(self) -> Form:
        _, channels, height, width = self.pictures.shape
        return Form(height, width, "grey" if channels == 1 else "colour")

    def take(self, rows: NDArray[np.int64]) -> "Labelled":
        return Labelled(self.pictures[rows], self.labels[rows], self.classes)

    def numbered_as(self, classes: tuple[str, ...]) -> "Labelled":
        """With the numbers that the same names have there: a published model has its classes in an order of its own."""
        twice = sorted({name for name in self.classes if classes.count(name) > 1})
        if twice:
            raise UserError(
                f"the model has more than one class '{twice[0]}', so that right cannot be told from wrong."
            )
        numbers = np.array([classes.index(name) for name in self.classes], dtype=np.int64)
        return Labelled(self.pictures, numbers[self.labels], classes)


@dataclass(frozen=True, kw_only=True)
class LabelledParts:
    """A data set as it was found; only the first part must be there."""

    train: Labelled
    valid: Labelled | None
    test: Labelled | None


def read_image_folder(
    folder: Path, *, size: int | None = None, colours: Colours | None = None
) -> LabelledParts:
    """Pictures of a folder. With a size or a choice of colours, those that differ are made to fit."""
    fit = size is not None or colours is not None
    if fit and holds_idx_files(folder):
        raise UserError("pictures in idx files stay as they are: leave out --size and --colours.")
    return read_parts(folder, lambda first: form_for(first, size, colours), fit=fit)


def read_images_for(folder: Path, form: Form, *, fit: bool) -> LabelledParts:
    """Pictures of a folder as a model sees them: those that differ are made to fit, or refused where they may not be."""
    parts = read_parts(folder, lambda first: form, fit=fit)
    if parts.train.form == form:
        return parts
    if not fit:
        raise UserError(
            f"the pictures of {folder} are {parts.train.form}, and those of the model {form}: give --fit."
        )
    kept = [None if part is None else made_to_fit(part, form) for part in (parts.valid, parts.test)]
    return LabelledParts(train=made_to_fit(parts.train, form), valid=kept[0], test=kept[1])


def read_parts(folder: Path, form_of: Callable[[Path], Form], *, fit: bool) -> LabelledParts:
    """`form_of` says how the pictures shall be, given the first; idx files are read as they are."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give one whose folders are named like the classes.")
    if holds_idx_files(folder):
        parts = [idx_part(folder, names) for names in ((TRAIN,), VALID, TEST)]
        if parts[0] is not None and len(np.unique(parts[0].labels)) < 2:
            raise UserError(f"the labels in {folder} hold one class, and a classifier needs two at least.")
    elif (folder / TRAIN).is_dir():
        first = folder_part(folder / TRAIN, form_of, fit)
        others = [next((folder / n for n in names if (folder / n).is_dir()), None) for names in (VALID, TEST)]
        parts = [
            first,
            *(None if each is None else folder_part(each, form_of, fit, like=first) for each in others),
        ]
    else:
        parts = [folder_part(folder, form_of, fit), None, None]
    train, valid, test = parts
    assert train is not None  # its file or folder was just seen
    for part in (valid, test):
        if part is not None and part.form != train.form:
            raise UserError(f"{folder} has training pictures of {train.form} and others of {part.form}.")
        if part is not None and not set(part.labels.tolist()) <= set(range(len(train.classes))):
            raise UserError(f"{folder} has classes outside the training part: give a picture of each there.")
    return LabelledParts(train=train, valid=valid, test=test)


# Folders of pictures


def folder_part(
    folder: Path, form_of: Callable[[Path], Form], fit: bool, like: Labelled | None = None
) -> Labelled:
    """The pictures below class-named folders; `like` is the part whose classes and form these have too."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if like is not None:
        strange = [name for name in names if name not in like.classes]
        if strange:
            raise UserError(f"{folder} has classes that the training part has not: {', '.join(strange)}.")
        names = list(like.classes)
    elif len(names) < 2:
        raise UserError(
            f"{folder} holds {'one class' if names else 'no class'}, and a classifier needs two at least: put "
            "the pictures of each class into a folder with its name."
        )
    files = [(path, label) for label, name in enumerate(names) for path in pictures_below(folder / name)]
    seen = {label for _, label in files}
    empty = [name for label, name in enumerate(names) if label not in seen and like is None]
    if empty:
        raise UserError(f"there is no picture in {folder / empty[0]}: fill it or take it away.")
    if not files:
        raise UserError(f"there is no picture below {folder}.")
    form = form_of(files[0][0]) if like is None else like.form
    pictures = read_pictures([path for path, _ in files], form, fit=fit)
    return Labelled(pictures, np.array([label for _, label in files], dtype=np.int64), tuple(names))


def pictures_below(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())


def form_for(first: Path, size: int | None, colours: Colours | None) -> Form:
    """What was asked for, and for the rest what the first picture is."""
    if size is not None and not 1 <= size <= 4096:
        raise UserError("--size must lie between 1 and 4096.")
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


def made_to_fit(part: Labelled, form: Form) -> Labelled:
    """Grey pictures, as idx files hold them, in another form."""
    pictures = room_for(len(part), form)
    for place, each in enumerate(part.pictures):
        pictures[place] = channels_first(converted(Image.fromarray(each[0]), MODES[form.colours]), form)
    return Labelled(pictures, part.labels, part.classes)


def room_for(count: int, form: Form) -> Bytes:
    needed = count * int(np.prod(form.shape))
    if needed > MOST_BYTES:
        raise UserError(
            f"{count:,} pictures of {form} need {needed / 1e9:.1f} GB of memory, more than the "
            f"{MOST_BYTES / 1e9:.0f} that qkv takes: give a smaller --size, or fewer pictures."
        )
    return np.empty((count, *form.shape), dtype=np.uint8)


def read_picture(path: Path, form: Form, *, fit: bool = False) -> Bytes:
    """One picture, (C, height, width): as it is, or made to fit the form; refused where it differs and may not be."""
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
    """Pillow's readers raise whatever broken bytes lead them to."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise UserError(
            f"{path} is damaged or cut off ({one_line(error)}): replace it or take it away."
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
    return f"convert it, or give --fit where a model is given and --size {form.width} where a new one is trained."


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """Its header alone is read: what is too large is known before memory is taken for it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # of odd tags, which matter to nobody here
            picture = Image.open(path)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder and not a picture.") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UserError(f"{path} is a huge picture: {too_many_pixels()}") from None
    except MemoryError:
        raise
    except Exception as error:  # Pillow's readers raise whatever broken bytes lead them to
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
        raise UserError(f"{path} is damaged or cut off ({one_line(error)}).") from None
    if picture.mode == "F" or (picture.mode == "I" and picture.format not in SIXTEEN_BITS):
        raise UserError(
            f"{path} has numbers of 32 bits (mode {picture.mode}), of which nobody says what is white: save it with 8 or 16."
        )
    if frames > 1 and picture.format != "MPO":  # phones put smaller views behind the picture itself
        raise UserError(f"{path} is animated or has several pages ({frames}): save one of them as a file.")


def too_many_pixels() -> str:
    return f"make it smaller, qkv reads up to {MOST_PIXELS // 1_000_000} million pixels."


def one_line(error: object) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__


def same_mode(picture: Image.Image, wanted: str) -> bool:
    """Also where it says the same in other words: two shades are greys, a palette without gaps is colours."""
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


# idx files


def holds_idx_files(folder: Path) -> bool:
    return idx_file(folder, TRAIN, "images") is not None


def idx_file(folder: Path, part: str, what: Literal["images", "labels"]) -> Path | None:
    number = 3 if what == "images" else 1
    for name in (f"{part}-{what}-idx{number}-ubyte", f"{part}-{what}.idx{number}-ubyte"):
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def idx_part(folder: Path, names: Sequence[str]) -> Labelled | None:
    for name in names:
        images, labels = (idx_file(folder, name, what) for what in ("images", "labels"))
        if images is None:
            continue
        if labels is None:
            raise UserError(f"{images} has no file of labels beside it: put {name}-labels-idx1-ubyte there.")
        pictures, classes = read_idx(images, 3), read_idx(labels, 1)
        if len(pictures) != len(classes):
            raise UserError(f"{images} has {len(pictures):,} pictures, but {labels} {len(classes):,} labels.")
        names_of_all = tuple(map(str, range(int(classes.max()) + 1)))
        return Labelled(pictures[:, None], classes.astype(np.int64), names_of_all)
    return None


def read_idx(path: Path, axes: int) -> Bytes:
    """Two zero bytes, the type (8: bytes), the number of axes, their lengths, and the values."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            head = file.read(4 + 4 * axes)
            if len(head) < 4 + 4 * axes or head[:3] != b"\0\0\x08" or head[3] != axes:
                raise UserError(f"{path} is no idx file of bytes with {axes} axes.")
            lengths = struct.unpack(f">{axes}I", head[4:])
            count = int(np.prod(lengths, dtype=object))
            if not count:
                raise UserError(f"{path} says that it holds nothing: a length of 0 in its first bytes.")
            if count > MOST_BYTES:
                raise UserError(f"{path} says that it has {count / 1e9:.1f} GB, more than qkv reads at once.")
            content = file.read(count)
            more = file.read(1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is damaged or cut off ({one_line(error)}): fetch it again.") from None
    if len(content) != count or more:
        raise UserError(f"{path} is damaged: its length is not what its first bytes say; fetch it again.")
    return np.frombuffer(bytearray(content), dtype=np.uint8).reshape(lengths)  # bytes could not be written to
