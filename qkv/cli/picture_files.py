"""Images that commands write."""

from pathlib import Path

from qkv.training.inputs import side_of_scenes as side_of_scenes


def check_picture_path(option: str, path: Path) -> None:
    """Before minutes of drawing: can this image be written?"""
    from qkv.families.dalle import sheet

    sheet.check_picture_path(path, option)
