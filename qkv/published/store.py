"""Models by language pair on this machine: a folder per model in the cache, which processes share.

published/PUBLISHER/NAME/model        the bundle, complete or absent
                         downloads/   files of the publisher, until they are imported
                         hashes.json  what was downloaded, recorded when it was imported for the first time
                         lock         held by the process that downloads
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import make_folders, read_json, write_json
from qkv.engine.library import cache_folder
from qkv.errors import DataError, ModelError
from qkv.published.listing import Listed, RemoteFile


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a model of the list is kept."""

    listed: Listed

    @property
    def folder(self) -> Path:
        name = self.listed.name.replace("/", "--")
        return cache_folder() / "published" / self.listed.publisher.name / name

    @property
    def bundle(self) -> Path:
        return self.folder / "model"

    @property
    def installed(self) -> bool:
        return (self.bundle / "config.json").is_file()

    def download_of(self, file: RemoteFile) -> Path:
        return self.folder / "downloads" / file.path.rsplit("/", 1)[-1]

    def recorded(self) -> dict[str, str]:
        """The sha256 of each file as it was downloaded first, by path."""
        try:
            found = read_json(self.folder / "hashes.json")
        except DataError:
            return {}
        return (
            found if isinstance(found, dict) and all(isinstance(each, str) for each in found.values()) else {}
        )

    def record(self, hashes: dict[str, str]) -> None:
        write_json(self.folder / "hashes.json", hashes)

    def expected(self, file: RemoteFile) -> str:
        """The hash that a download must have, or an empty string if nobody has stated one."""
        return file.sha256 or self.recorded().get(file.path, "")

    @property
    def verified(self) -> bool:
        """Is there a hash for each of its files?"""
        return all(self.expected(file) for file in self.listed.files)

    def clear_downloads(self) -> None:
        shutil.rmtree(self.folder / "downloads", ignore_errors=True)

    @contextmanager
    def locked(self, waiting: Callable[[], Any]) -> Iterator[None]:
        """Wait until no other process installs this model. `waiting` is called before."""
        try:
            make_folders(self.folder)
        except OSError as error:
            raise ModelError(
                f"{self.folder} cannot be made ({error.strerror}): set QKV_CACHE to another folder."
            ) from None
        try:
            import fcntl
        except ImportError:  # Windows: both processes download, and one of them is late
            yield
            return
        with open(self.folder / "lock", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
