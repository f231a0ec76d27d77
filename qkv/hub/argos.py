"""Unpack .argosmodel packages: zip archives with a CTranslate2 model, its tokenizer and metadata.json.

They are untrusted. Only files with known places are written, under names of our own, and sizes are checked before.
"""

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from qkv.errors import DataError

ENDING = ".argosmodel"
METADATA, MODEL = "metadata.json", "model"
MOST_MEMBERS = 10_000
LARGEST = 16 << 30  # bytes of all unpacked files
LARGEST_RATIO, SMALL = 1_000, 64 << 20  # larger archives that unpack to more than this ratio are bombs
ENCRYPTED, LINK = 0x1, 0o120000


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A temporary folder with the package: metadata.json, the tokenizer, and the folder `model`."""
    with tempfile.TemporaryDirectory(prefix="qkv-") as temporary:
        folder = Path(temporary)
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                check_members(members, path)
                unpack(archive, members, folder, path)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise DataError(f"{path} is not a complete package ({error}). Download it again.") from None
        yield folder


def check_members(members: list[zipfile.ZipInfo], path: Path) -> None:
    if len(members) > MOST_MEMBERS:
        raise DataError(f"{path} has {len(members):,} files; qkv reads packages of at most {MOST_MEMBERS:,}.")
    total = sum(each.file_size for each in members)
    if total > LARGEST or total > SMALL + LARGEST_RATIO * path.stat().st_size:
        raise DataError(
            f"{path} would unpack to {total:,} bytes, which is too much for a package. It was not read."
        )
    names = set()
    for each in members:
        place = PurePosixPath(each.filename)
        if place.is_absolute() or ".." in place.parts or "\\" in each.filename or ":" in each.filename:
            raise DataError(
                f"{path} has a file outside of its own folder ('{each.filename}'). It was not read."
            )
        if each.flag_bits & ENCRYPTED or each.external_attr >> 16 & 0o170000 == LINK:
            raise DataError(f"{path}: '{each.filename}' is encrypted or a link. It was not read.")
        if place in names:
            raise DataError(f"{path} has two files with the name '{each.filename}'. It was not read.")
        names.add(place)


def unpack(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path, path: Path) -> None:
    """Write the files of the package itself and those directly in its folder `model`; others have no effect."""
    root = root_of(members, path)
    for each in members:
        place = PurePosixPath(each.filename)
        if each.is_dir() or not place.is_relative_to(root):
            continue
        parts = place.relative_to(root).parts
        if len(parts) == 1 or (len(parts) == 2 and parts[0] == MODEL):
            target = folder.joinpath(*parts)
            target.parent.mkdir(exist_ok=True)
            with archive.open(each) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)


def root_of(members: list[zipfile.ZipInfo], path: Path) -> PurePosixPath:
    """The folder of the archive that is the package."""
    places = [PurePosixPath(each.filename) for each in members]
    roots = [place.parent for place in places if place.name == METADATA and len(place.parts) <= 2]
    if len(roots) != 1:
        raise DataError(
            f"{path} is not a package of Argos Translate: it should have one {METADATA}, not {len(roots)}."
        )
    return roots[0]
