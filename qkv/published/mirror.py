"""Where the files of a model come from: the publisher, or a folder or server that QKV_MODELS names."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from qkv.checkpoint.files import file_hash, make_folders
from qkv.errors import InputError, ModelError
from qkv.published.listing import Publisher, RemoteFile
from qkv.published.transfer import Progress, Remote, UnreachableError, download

VARIABLE = "QKV_MODELS"


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """A folder, or a server, with the files at PUBLISHER/PATH."""

    folder: Path | None = None
    address: str = ""

    @classmethod
    def chosen(cls) -> "Mirror | None":
        """What the environment names."""
        asked = os.environ.get(VARIABLE, "")
        if not asked:
            return None
        place = urlsplit(asked)
        if place.scheme in ("http", "https"):
            return cls(address=asked.rstrip("/"))
        if "://" in asked:
            raise InputError(f"{VARIABLE} must be a folder or an address with http or https, not {asked}.")
        return cls(folder=Path(asked).expanduser())


def fetch(publisher: Publisher, file: RemoteFile, target: Path, sha256: str, progress: Progress) -> str:
    """Get a file, check it, and return its sha256. `sha256` is the expected one, if it is known."""
    mirror = Mirror.chosen()
    if mirror is not None and mirror.folder is not None:
        return copy(mirror.folder / publisher.name / file.path, target, sha256, publisher.address + file.path)
    remote = remote_file(publisher, file, sha256, mirror)
    try:
        return download(remote, target, progress)
    except UnreachableError as error:
        raise ModelError(f"{error} {without_network(publisher, file, remote)}") from None


def remote_file(publisher: Publisher, file: RemoteFile, sha256: str, mirror: Mirror | None) -> Remote:
    if mirror is None:
        place = urlsplit(publisher.address)
        base, hosts = publisher.address, frozenset(publisher.hosts)
    else:
        place = urlsplit(mirror.address)
        base, hosts = f"{mirror.address}/{publisher.name}/", frozenset((place.netloc,))
    address = base + quote(file.path, safe="/+~!@$&'()*,;=:")
    return Remote(address=address, hosts=hosts, scheme=place.scheme, size=file.size, sha256=sha256)


def copy(found: Path, target: Path, sha256: str, address: str) -> str:
    if not found.is_file():
        raise ModelError(f"there is no file {found}, and {VARIABLE} names that folder: copy {address} to it.")
    actual = file_hash(found)
    if sha256 and actual != sha256:
        raise ModelError(
            f"{found} is damaged or was changed: its sha256 is {actual} instead of {sha256}. Copy it again."
        )
    make_folders(target.parent)
    shutil.copyfile(found, target)
    return actual


def without_network(publisher: Publisher, file: RemoteFile, remote: Remote) -> str:
    published = f"{publisher.address}{file.path}"
    what = "the file" if remote.address == published else published
    return f"Without a network, copy {what} to FOLDER/{publisher.name}/{file.path} and set {VARIABLE}=FOLDER."
