"""From downloaded files to what `qkv.import_model` reads. The files are untrusted: sizes and names are checked first."""

import gzip
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from qkv.errors import ModelError
from qkv.hub.argos import ENDING, LARGEST, check_members

BLOCK = 1 << 20  # bytes
SMALL, RATIO = (
    16 << 20,
    20,
)  # a .gz file may unpack to this many bytes and times its size; weights hardly shrink


def unpack(files: Sequence[Path], folder: Path) -> Path:
    """What to import: an Argos package as it is, or a folder with the content of .gz and .zip files."""
    if len(files) == 1 and files[0].suffix == ENDING:
        return files[0]
    for path in files:
        if path.suffix == ".gz":
            unpack_gzip(path, folder / path.stem)
        elif path.suffix == ".zip":
            unpack_zip(path, folder)
        else:
            shutil.copyfile(path, folder / path.name)
    return folder


def unpack_gzip(path: Path, target: Path) -> None:
    left = largest_content(path)
    try:
        with gzip.open(path) as source, open(target, "wb") as file:
            while block := source.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise ModelError(f"{path} unpacks to more bytes than a model needs. It was not read.")
                file.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ModelError(f"{path} is not a complete .gz file ({error}). Download it again.") from None


def unpack_zip(path: Path, folder: Path) -> None:
    """The files of an archive without its folders. OPUS-MT's archives have none."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            check_members(members, path)
            names = [PurePosixPath(each.filename).name for each in members]
            if len(set(names)) < len(names):
                raise ModelError(f"{path} has two files of the same name. It was not read.")
            for each, name in zip(members, names, strict=True):
                with archive.open(each) as source, open(folder / name, "wb") as file:
                    shutil.copyfileobj(source, file, BLOCK)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"{path} is not a complete archive ({error}). Download it again.") from None


def largest_content(path: Path) -> int:
    return min(LARGEST, SMALL + RATIO * path.stat().st_size)
