"""Images that commands write."""

from pathlib import Path

from qkv.errors import QkvError
from qkv.training.inputs import side_of_scenes as side_of_scenes


def check_picture_path(option: str, path: Path) -> None:
    """Before minutes of drawing: can this image be written?"""
    if path.suffix.lower() != ".png":
        raise QkvError(f"{option} must end in .png, but {path.name} does not.")
    if not path.parent.is_dir():
        raise QkvError(
            f"there is no folder {path.parent} for the image: create it, or give another {option}."
        )
    if path.is_dir():
        raise QkvError(f"{path} is a folder: give {option} a file name.")
