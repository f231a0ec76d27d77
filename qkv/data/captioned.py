"""Images with captions: a folder with captions.tsv, an .npz file with captions in JSON, or built-in scenes."""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from qkv.data.images import MAX_BYTES, Bytes, choose_form, error_text, find_images, image_name, read_pictures
from qkv.data.lines import reject_lone_surrogates
from qkv.data.worlds.scenes import LANGUAGES, SIDE, Part, Scene, caption, draw_scene, scenes
from qkv.errors import DataError, QkvError

CAPTIONS_FILE = "captions.tsv"
LONGEST = 1_000  # characters of a caption


@dataclass(frozen=True)
class Captioned:
    """Square images, each with one caption or several equivalent ones."""

    pictures: Bytes  # (N, C, side, side)
    captions: list[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.captions)

    def take(self, rows: Sequence[int]) -> "Captioned":
        return Captioned(self.pictures[list(rows)], [self.captions[row] for row in rows])

    def fingerprint(self) -> str:
        digest = sha256(json.dumps(self.captions).encode())
        digest.update(np.ascontiguousarray(self.pictures).data)
        return digest.hexdigest()


def words_of(text: str) -> list[str]:
    return text.lower().split()


# Built-in scenes


def scene_pictures(part: Part, count: int, side: int = SIDE) -> Captioned:
    """Scenes of a part, each with its caption in every language."""
    chosen = list(islice(scenes(part, 1), count))
    pixels = np.stack(
        [draw_scene(scene, Random(f"{part} {n}"), side).pixels for n, scene in enumerate(chosen)]
    )
    return Captioned(pixels, [captions_of(scene) for scene in chosen])


def captions_of(scene: Scene) -> tuple[str, ...]:
    return tuple(caption(scene, language) for language in LANGUAGES)


# Files


def read_captioned(images: Path, captions: Path | None, size: int | None) -> Captioned:
    """Read color images with their captions."""
    if images.is_dir():
        return read_caption_folder(images, captions or images / CAPTIONS_FILE, size)
    if captions is None:
        raise DataError(f"{images} is not a folder: give a file with its captions too.")
    return read_caption_npz(images, captions, size)


def read_plain(images: Path, size: int | None) -> Bytes:
    """Read color images, ignoring captions and classes."""
    if images.is_dir():
        paths = find_images(images)
        if not paths:
            raise DataError(f"there are no images in {images}.")
        return read_squares(paths, size)
    return npz_pictures(images, size)


def read_caption_folder(folder: Path, captions: Path, size: int | None) -> Captioned:
    """Each line of captions.tsv is a file name, a tab and a caption. An image may have several lines."""
    if not captions.is_file():
        raise DataError(
            f"{captions} is missing. It must have a line for each image: file name, tab, caption."
        )
    try:
        with open(captions, encoding="utf-8-sig") as file:  # with or without a byte order mark
            lines = [line.rstrip("\n").split("\t") for line in file]
    except UnicodeDecodeError:
        raise DataError(f"{captions} is not UTF-8 text.") from None
    for number, row in enumerate(lines, 1):
        if row != [""] and len(row) != 2:
            raise DataError(f"{captions}, line {number}: write a file name, a tab and a caption.")
    rows = [row for row in lines if row != [""]]
    texts = clean_captions([row[1] for row in rows], captions)
    of_file: dict[str, tuple[str, ...]] = {}
    for (name, _), text in zip(rows, texts, strict=True):
        of_file[name] = (*of_file.get(name, ()), text)
    return Captioned(read_squares([folder / name for name in of_file], size), list(of_file.values()))


def read_caption_npz(images: Path, captions: Path, size: int | None) -> Captioned:
    try:
        entries = json.loads(captions.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{captions} cannot be read as JSON ({error_text(error)}).") from None
    if not isinstance(entries, list):
        raise DataError(f"{captions} is not a list of captions.")
    texts = [
        entry.get("caption", entry.get("name")) if isinstance(entry, dict) else entry for entry in entries
    ]
    found = [text for text in texts if isinstance(text, str)]
    if len(found) < len(texts):
        raise DataError(f"{captions}: each entry must be a string, or an object with a caption or a name.")
    pictures = npz_pictures(images, size)
    if len(texts) != len(pictures):
        raise DataError(f"{images} has {len(pictures):,} images, but {captions} has {len(texts):,} captions.")
    return Captioned(pictures, [(text,) for text in clean_captions(found, captions)])


def clean_captions(texts: list[str], where: Path) -> list[str]:
    cleaned = [" ".join(text.split()) for text in texts]
    for number, text in enumerate(cleaned, 1):
        if not text:
            raise DataError(f"{where}: caption {number} is empty.")
        reject_lone_surrogates(text, f"{where}: caption {number}")
        if len(text) > LONGEST:
            raise DataError(f"{where}: caption {number} has {len(text):,} characters, more than {LONGEST:,}.")
    if not cleaned:
        raise DataError(f"{where} has no captions.")
    return cleaned


def read_squares(paths: Sequence[Path], size: int | None) -> Bytes:
    form = choose_form(paths[0], size, "colour")
    if form.height != form.width:
        raise DataError(f"{image_name(paths[0])} is not square: choose a size to crop images to.")
    return read_pictures(paths, form, fit=size is not None)


def npz_pictures(path: Path, size: int | None) -> Bytes:
    """The array `images` of an .npz file, (N, side, side, 3) of bytes. Nothing in it is executed."""
    if size is not None:
        raise DataError("the size of images in an .npz file cannot be changed: leave it out.")
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo("images.npy").file_size > MAX_BYTES:
                raise DataError(f"{path} holds more than {MAX_BYTES / 1e9:.0f} GB of images.")
        with np.load(path, allow_pickle=False) as arrays:
            pictures = arrays["images"]
    except QkvError:
        raise
    except KeyError:
        raise DataError(f"{path} has no array called images.") from None
    except Exception as error:  # a broken or encrypted archive can raise anything
        raise DataError(f"{path} cannot be read as an .npz file of images ({error_text(error)}).") from None
    square = pictures.ndim == 4 and pictures.shape[1] == pictures.shape[2] and pictures.shape[3] == 3
    if pictures.dtype != np.uint8 or not square or not len(pictures):
        raise DataError(
            f"{path}: its images are {pictures.dtype} {pictures.shape}, but must be bytes of shape (number, side, side, 3)."
        )
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
