"""Upload a folder with a model to Hugging Face's hub."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from qkv.errors import DataError, InputError, MissingExtraError, ModelError, OptionError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]*")  # as the hub writes them: apache-2.0, cc-by-4.0
CARD = "README.md"
NOT_PUBLISHED = ("training/", "seen.safetensors")
"""The run, which may hold training data, and the fingerprints of its sentences."""


def upload_folder(folder: Path, name: str, *, private: bool, license: str | None, message: str) -> str:
    """Create the repository if it is missing, and add all files in one commit. Returns the address of the model.

    Raises:
        DataError: The folder holds no model.
        ModelError: The hub cannot be reached, or does not accept the upload.
    """
    if not NAME.fullmatch(name):
        raise InputError(f"{name} is not a name on the hub: give OWNER/NAME.")
    if license is not None and not LICENSE.fullmatch(license):
        raise OptionError(("license", "must be a name of the hub, such as apache-2.0 or cc-by-4.0"))
    files = dict(published_files(folder, license))
    try:
        from huggingface_hub import CommitOperationAdd, HfApi, errors
    except ImportError:
        raise MissingExtraError("an upload", package="huggingface_hub", extra="hub") from None
    hub = HfApi(library_name="qkv")
    try:
        hub.create_repo(name, private=private, exist_ok=True)
        additions = [CommitOperationAdd(place, content) for place, content in files.items()]
        commit = hub.create_commit(name, additions, commit_message=message)
    except errors.HfHubHTTPError as error:
        raise ModelError(f"the hub did not accept {name}: {reason_of(error)}") from None
    except Exception as error:  # errors of the network come from httpx, requests or the standard library
        what = f"{type(error).__name__}: {reason_of(error)}"
        raise ModelError(f"{name} could not be uploaded ({what}). Check the network.") from error
    return str(commit.repo_url)


def published_files(folder: Path, license: str | None) -> Iterator[tuple[str, str | bytes]]:
    """The files to upload, by their place in the repository, with their path or their content."""
    if not (folder / "config.json").is_file():
        raise DataError(f"{folder} holds no model: it has no config.json.")
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if (
            path.is_symlink()  # it may point anywhere
            or not path.is_file()
            or place.startswith(NOT_PUBLISHED)
            or any(part[0] == "." for part in Path(place).parts)
        ):
            continue
        if place == CARD and license is not None:
            yield place, with_license(path.read_text(encoding="utf-8"), license).encode()
        else:
            yield place, str(path)


def with_license(card: str, license: str) -> str:
    """The card with a license in its front matter."""
    line = f"license: {json.dumps(license)}\n"
    if not card.startswith("---\n"):
        return f"---\n{line}---\n\n{card}"
    front, end, text = card.removeprefix("---\n").partition("---\n")
    kept = re.sub(r"^license:.*\n", "", front, flags=re.MULTILINE)
    return f"---\n{line}{kept}{end}{text}"


def reason_of(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return "you may not write there. Log in with `hf auth login`, or set HF_TOKEN."
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
