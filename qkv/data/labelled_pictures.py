"""Labeled images: one folder per class, or idx files as for MNIST.

A file classes.json in the folder of the classes may name them: {"00000": "a/b"} says that the folder 00000 is the class a/b.
"""

import gzip
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from qkv.data.holding_out import split_rows
from qkv.data.images import (
    MAX_BYTES,
    MODES,
    Bytes,
    Colours,
    Form,
    allocate,
    channels_first,
    choose_form,
    convert_mode,
    error_text,
    find_images,
    read_pictures,
)
from qkv.errors import DataError

TRAIN, VALID, TEST = ("train", "training"), ("val", "valid", "validation", "dev"), ("test", "testing", "t10k")
PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
CLASSES_FILE = "classes.json"
FormOf = Callable[[Path], Form]


@dataclass(frozen=True)
class Labelled:
    """Images, each with one class."""

    pictures: Bytes  # (N, C, height, width)
    labels: NDArray[np.int64]  # (N)
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def form(self) -> Form:
        _, channels, height, width = self.pictures.shape
        return Form(height, width, "grey" if channels == 1 else "colour")

    def take(self, rows: list[int]) -> "Labelled":
        return Labelled(self.pictures[rows], self.labels[rows], self.classes)

    def with_class_order(self, classes: tuple[str, ...]) -> "Labelled":
        """The same images, with labels numbered in the order of these classes."""
        unknown = [name for name in self.classes if name not in classes]
        if unknown:
            raise DataError(f"the model has no class '{unknown[0]}': use the classes of the model.")
        twice = sorted({name for name in self.classes if classes.count(name) > 1})
        if twice:
            raise DataError(
                f"the model has more than one class '{twice[0]}', so predictions cannot be scored."
            )
        numbers = np.array([classes.index(name) for name in self.classes], dtype=np.int64)
        return Labelled(self.pictures, numbers[self.labels], classes)


def hold_out(count: int, size: str, seed: int) -> tuple[list[int], list[int]]:
    """Rows of images to train on and held-out rows, chosen by the seed. NumPy shuffles them: so they were in earlier runs."""
    return split_rows(np.random.default_rng(seed).permutation(count).tolist(), size, "images")


@dataclass(frozen=True, kw_only=True)
class LabelledParts:
    """The parts of a data set; only `train` is required."""

    train: Labelled
    valid: Labelled | None
    test: Labelled | None


def read_image_folder(
    folder: Path, *, size: int | None = None, colours: Colours | None = None
) -> LabelledParts:
    """Images of a folder. With a size or colors, other images are resized and converted."""
    fit = size is not None or colours is not None
    if fit and any(idx_file(folder, name, "images") for name in TRAIN):
        raise DataError(
            "images in idx files cannot be resized or converted: leave out the size and the colors."
        )
    return read_parts(folder, lambda first: choose_form(first, size, colours), fit=fit)


def read_images_for(folder: Path, form: Form, *, fit: bool) -> LabelledParts:
    """Images of a folder in a model's form. Other images are converted if `fit`, else they are an error."""
    parts = read_parts(folder, lambda first: form, fit=fit)
    if parts.train.form == form:
        return parts
    if not fit:
        raise DataError(
            f"the images of {folder} are {parts.train.form}, but the model needs {form}: fit them to the model."
        )
    kept = [None if part is None else fit_images(part, form) for part in (parts.valid, parts.test)]
    return LabelledParts(train=fit_images(parts.train, form), valid=kept[0], test=kept[1])


def read_evaluation_images(folder: Path, form: Form, classes: tuple[str, ...]) -> tuple[str, Labelled]:
    """The part to evaluate a classifier on (test, else valid, else all), and its name. Images are fitted to the model."""
    check_folder(folder)
    for name in ("test", "valid", "train"):
        found = idx_part(folder, PARTS[name])
        if found is not None:
            known = found.with_class_order(classes)
            return part_name(name), known if known.form == form else fit_images(known, form)
    own = part_folders(folder)
    name = next((name for name in ("test", "valid", "train") if name in own), "train")
    chosen = own.get(name, folder)
    named = tuple(class_folders(chosen))
    part = read_classes(chosen, lambda first: form, fit=True, among=named)  # a class may be empty
    return part_name(name), part.with_class_order(classes)


def part_name(name: str) -> str:
    return "all" if name == "train" else name


def check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder: give a folder with one subfolder per class.")


def read_parts(folder: Path, form_of: FormOf, *, fit: bool) -> LabelledParts:
    """Read all parts. `form_of` chooses the form of all images from the first one; idx files are read unchanged."""
    check_folder(folder)
    found = idx_parts(folder) or folder_parts(folder, form_of, fit=fit)
    for part in (found.valid, found.test):
        if part is not None and part.form != found.train.form:
            raise DataError(f"{folder} has training images of {found.train.form} and others of {part.form}.")
        if part is not None and part.labels.max() >= len(found.train.classes):
            raise DataError(f"{folder} has classes without training images: add some, or remove the classes.")
    return found


# Folders of images


def folder_parts(folder: Path, form_of: FormOf, *, fit: bool) -> LabelledParts:
    own = part_folders(folder)
    if own and "train" not in own:
        raise DataError(
            f"{folder} has {' and '.join(path.name for path in own.values())} but no train: put the training images into "
            f"{folder / 'train'}."
        )
    train = read_classes(own.get("train", folder), form_of, fit=fit)
    if len(train.classes) < 2:
        raise DataError(
            f"{own.get('train', folder)} has one class, but a classifier needs at least two: put the images of each "
            "class into a folder of its own."
        )
    valid, test = (
        read_classes(own[name], lambda first: train.form, fit=fit, among=train.classes)
        if name in own
        else None
        for name in ("valid", "test")
    )
    return LabelledParts(train=train, valid=valid, test=test)


def part_folders(folder: Path) -> dict[str, Path]:
    """The folders of the parts. A folder without subfolders is a class, whatever its name."""
    named = {path.name.lower(): path for path in folders_in(folder)}
    found = {part: named[name] for part, names in PARTS.items() for name in reversed(names) if name in named}
    return {part: path for part, path in found.items() if folders_in(path)}


def folders_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def class_folders(folder: Path) -> dict[str, Path]:
    """The folder of each class, by its name and in the order of names."""
    own = {path.name: path for path in folders_in(folder)}
    if not (folder / CLASSES_FILE).is_file():
        return own
    try:
        names = json.loads((folder / CLASSES_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{folder / CLASSES_FILE} cannot be read as JSON ({error_text(error)}).") from None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DataError(f"{folder / CLASSES_FILE} must be an object with the name of each folder's class.")
    named = {names.get(place, place): path for place, path in own.items()}
    if len(named) < len(own):
        raise DataError(f"{folder / CLASSES_FILE} gives two folders the same name.")
    return dict(sorted(named.items()))


def read_classes(
    folder: Path, form_of: FormOf, *, fit: bool, among: tuple[str, ...] | None = None
) -> Labelled:
    """The images of all class folders. With `among`, these are the classes, and some may be missing."""
    folders = class_folders(folder)
    names = tuple(folders)
    unknown = [name for name in names if among is not None and name not in among]
    if unknown:
        raise DataError(f"{folder} has classes that the training part lacks: {', '.join(unknown)}.")
    classes = names if among is None else among
    files = [
        (path, label)
        for label, name in enumerate(classes)
        for path in find_images(folders.get(name, folder / name))
    ]
    seen = {label for _, label in files}
    empty = [name for label, name in enumerate(classes) if label not in seen and among is None]
    if empty:
        raise DataError(f"there are no images in {folder / empty[0]}: add some, or remove the folder.")
    if not files:
        raise DataError(
            f"there are no images in the folders of {folder}: put the images of each class into a folder of its own."
        )
    pictures = read_pictures([path for path, _ in files], form_of(files[0][0]), fit=fit)
    return Labelled(pictures, np.array([label for _, label in files], dtype=np.int64), classes)


def fit_images(part: Labelled, form: Form) -> Labelled:
    """Convert grey images, as from idx files, to another form."""
    pictures = allocate(len(part), form)
    for place, each in enumerate(part.pictures):
        pictures[place] = channels_first(convert_mode(Image.fromarray(each[0]), MODES[form.colours]), form)
    return Labelled(pictures, part.labels, part.classes)


# idx files


def idx_parts(folder: Path) -> LabelledParts | None:
    train, valid, test = (idx_part(folder, names) for names in (TRAIN, VALID, TEST))
    if train is None:
        return None
    if len(np.unique(train.labels)) < 2:
        raise DataError(f"the labels in {folder} have one class, but a classifier needs at least two.")
    return LabelledParts(train=train, valid=valid, test=test)


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
            raise DataError(f"{images} has no labels: put {name}-labels-idx1-ubyte next to it.")
        pictures, classes = read_idx(images, 3), read_idx(labels, 1)
        if len(pictures) != len(classes):
            raise DataError(
                f"{images} has {len(pictures):,} images, but {labels} has {len(classes):,} labels."
            )
        names_of_all = tuple(map(str, range(int(classes.max()) + 1)))
        return Labelled(pictures[:, None], classes.astype(np.int64), names_of_all)
    return None


def read_idx(path: Path, axes: int) -> Bytes:
    """Two zero bytes, the type (8: bytes), the number of axes, their lengths, and the values."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            head = file.read(4 + 4 * axes)
            if len(head) < 4 + 4 * axes or head[:3] != b"\0\0\x08" or head[3] != axes:
                raise DataError(f"{path} is not an idx file of bytes with {axes} axes.")
            lengths = struct.unpack(f">{axes}I", head[4:])
            count = int(np.prod(lengths, dtype=object))
            if not count:
                raise DataError(f"{path} is empty: its header has a length of 0.")
            if count > MAX_BYTES:
                raise DataError(
                    f"{path} has {count / 1e9:.1f} GB, more than the {MAX_BYTES / 1e9:.0f} GB that qkv reads."
                )
            content = file.read(count)
            more = file.read(1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is damaged or truncated ({error_text(error)}). Download it again.") from None
    if len(content) != count or more:
        raise DataError(f"{path} is damaged: its length does not match its header. Download it again.")
    return np.frombuffer(bytearray(content), dtype=np.uint8).reshape(lengths)  # a writable copy
