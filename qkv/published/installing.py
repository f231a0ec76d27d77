"""Install a published translator: download its files, verify them, and import them to a bundle in the cache."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qkv.checkpoint.bundle import CONFIG_FILE
from qkv.checkpoint.files import file_hash, read_json, write_json
from qkv.errors import DataError, ModelError
from qkv.published.listing import Listed, RemoteFile, languages, models_for
from qkv.published.mirror import fetch
from qkv.published.pairs import Pair, code_of, written
from qkv.published.starter import starter_folder
from qkv.published.store import Place
from qkv.published.transfer import Progress
from qkv.published.unpacking import unpack

Import = Callable[[Path, Path, str], object]
"""Takes what to import, the folder for the bundle, and the name of the origin."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What surrounds an installation: its import, its messages and its progress."""

    importer: Import
    say: Callable[[str], object]
    progress: Progress


def installed_folder(pair: Pair, publisher: str | None = None) -> Path | None:
    """The bundle of a pair on this machine: one that was downloaded, or that of the package qkv-starter."""
    for listed in models_for(pair, publisher):
        if Place(listed=listed).installed:
            return Place(listed=listed).bundle
    return starter_folder(pair) if publisher is None else None


def install_pair(pair: Pair, publisher: str | None, ways: Ways) -> Path:
    return installed_folder(pair, publisher) or install(choose(pair, publisher), ways)


def choose(pair: Pair, publisher: str | None) -> Listed:
    found = models_for(pair, publisher)
    if found:
        return found[0]
    unknown = [code for code in pair if code not in languages()]
    if unknown:
        raise ModelError(f"there is no published translator for the language '{unknown[0]}'.")
    by = f" by {publisher}" if publisher else ""
    raise ModelError(
        f"there is no published translator{by} for {written(pair)}. Two models can be combined through a third language, such as "
        "English."
    )


def install(listed: Listed, ways: Ways) -> Path:
    """The bundle. Of several processes one downloads, and the others wait for it."""
    place = Place(listed=listed)
    with place.locked(lambda: ways.say(f"another process installs {listed.name}: waiting for it")):
        if place.installed:
            return place.bundle
        hashes = {file.path: download(place, file, ways) for file in listed.files}
        with tempfile.TemporaryDirectory(dir=place.folder, prefix=".tmp-") as temporary:
            files, bundle = Path(temporary, "files"), Path(temporary, "model")
            files.mkdir()
            found = unpack([place.download_of(file) for file in listed.files], files)
            try:
                ways.importer(found, bundle, f"{listed.publisher.publisher}: {listed.name}")
            except DataError as error:
                place.clear_downloads()
                raise ModelError(str(error)) from None
            name_languages(bundle, listed)
            os.replace(bundle, place.bundle)  # complete or absent, also for processes that do not wait
        place.record(hashes)
        place.clear_downloads()
    return place.bundle


def name_languages(bundle: Path, listed: Listed) -> None:
    """Files of OPUS-MT do not state their languages; the list does."""
    config = read_json(bundle / CONFIG_FILE)
    if isinstance(config, dict) and config.get("languages") == {"source": "source", "target": "target"}:
        source, target = map(code_of, listed.pair)
        write_json(bundle / CONFIG_FILE, {**config, "languages": {"source": source, "target": target}})


def download(place: Place, file: RemoteFile, ways: Ways) -> str:
    """Get a file, unless an earlier import of it could not be completed. Returns its sha256."""
    target, sha256 = place.download_of(file), place.expected(file)
    if target.is_file() and (found := file_hash(target)) == (sha256 or found):
        return found
    return fetch(place.listed.publisher, file, target, sha256, ways.progress)
