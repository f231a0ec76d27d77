"""push: upload a model to the hub."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from qkv.errors import InputError
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.keywords import PushKeywords


@dataclass(frozen=True, kw_only=True)
class PushOptions:
    """How a model is published."""

    private: bool = False
    """Only you and your organization see a new repository."""
    license: str | None = None
    """License for the model card, as the hub writes it: apache-2.0, cc-by-4.0 …"""
    message: str = "Upload a model of qkv"
    """Commit message."""


@with_options(PushOptions)
def push(model: Any, name: str, **options: Unpack[PushKeywords]) -> str:
    """Upload a model to Hugging Face's hub, as `qkv push` does. `qkv.load(name)` opens it from there.

    Training runs and fingerprints of the training data are left out. You must be logged in: `hf auth login`, or the
    variable HF_TOKEN.

    Args:
        model: The folder of a bundle or of an export, or a model that was opened from a folder.
        name: OWNER/NAME on the hub. The repository is created if it is missing.

    Returns:
        The address of the model.

    Raises:
        DataError: The folder holds no model.
        ModelError: The hub cannot be reached, or does not accept the upload.

    Example:
        >>> qkv.push("runs/en-de", "en-de")
        Traceback (most recent call last):
        ...
        qkv.errors.InputError: en-de is not a name on the hub: give OWNER/NAME.
    """
    from qkv.families.products import folder_of, kind_of_product
    from qkv.hub.publishing import upload_folder

    if isinstance(model, str | os.PathLike):
        folder: Path | None = Path(model)
    else:
        kind_of_product(model)  # an error for anything else
        folder = folder_of(model)
    if folder is None:
        raise InputError("this model has no folder: save it first.")
    given = replace_options(PushOptions(), options)
    return upload_folder(folder, name, private=given.private, license=given.license, message=given.message)
