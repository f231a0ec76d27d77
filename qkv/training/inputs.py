"""Inputs of training that several families share: labeled texts, and images. Importing this needs no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from qkv.data.python_rows import as_path, is_path
from qkv.flags import OptionalFile, OptionalModel, OptionMessageError
from qkv.training.python_data import GivenData, Values
from qkv.training.trainable import Inputs, path_inputs

FEWEST_SCENES, MOST_SCENES = 100, 1_000_000  # a million are 3 GB


@dataclass(frozen=True, kw_only=True)
class LabelInputs(Inputs):
    fine_tune: OptionalModel = None
    """Folder of the model to fine-tune."""
    labels: OptionalFile = None
    """Labeled texts: text, tab, label; or two texts and a label. A header line may name the columns."""
    valid_labels: OptionalFile = None
    """Labeled texts to validate on; by default some of the others are held out."""
    columns: str = ""
    """Columns of the files: text,label or text,second,label, by name or by number from 1."""

    MAIN: ClassVar = "labels"
    PYTHON: ClassVar = frozenset(("text_column", "second_column", "label_column"))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """Labeled texts as rows of a text (or two) and a label, or with these columns."""
        choice = given.get("form") == "choice"
        data = GivenData(values=paths_in(cls, given))
        for name in ("labels", "valid_labels"):
            if name in given and not is_path(given[name]):
                data = data.with_writer(partial(write_label_file, name, given, choice))
        return data

    def model_and_labels(self) -> tuple[Path, Path]:
        """The model and the labels."""
        if self.fine_tune is None or self.labels is None:
            raise OptionMessageError(
                "fine-tuning needs a model and examples: give both {fine_tune} and {labels}."
            )
        return self.fine_tune, self.labels


def write_label_file(name: str, given: Mapping[str, Any], choice: bool, folder: Path, _: Values) -> Values:
    from qkv.data.python_texts import LabelColumns, write_labelled

    columns = LabelColumns(
        text=given.get("text_column"), second=given.get("second_column"), label=given.get("label_column")
    )
    path = folder / f"{name}.jsonl"
    write_labelled(path, given[name], name, columns, choice=choice)
    return {name: path}


class TextInputs(Inputs):
    """Inputs whose files are texts: `text` and `valid_text`."""

    MAIN: ClassVar = "text"
    PYTHON: ClassVar = frozenset(("text_column",))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """A string or a path is a file, and so is each path in a list. A list of strings has the texts themselves."""
        data = GivenData(values=paths_in(cls, given))
        for name in ("text", "valid_text"):
            if name not in given:
                continue
            value = given[name]
            if is_path(value):
                data.values[name] = (as_path(value),)
            elif (
                isinstance(value, list | tuple)
                and value
                and all(isinstance(each, os.PathLike) for each in value)
            ):
                data.values[name] = tuple(map(as_path, value))
            else:
                data = data.with_writer(partial(write_text_file, name, given))
        return data


def write_text_file(name: str, given: Mapping[str, Any], folder: Path, _: Values) -> Values:
    from qkv.data.python_texts import write_texts

    path = folder / f"{name}.jsonl"
    write_texts(path, given[name], name, given.get("text_column"))
    return {name: (path,)}


def paths_in(inputs: type[Inputs], given: Mapping[str, Any]) -> Values:
    """Those of the given values that are the path of an input."""
    return {
        name: as_path(given[name])
        for name, several in path_inputs(inputs).items()
        if not several and is_path(given.get(name))
    }


@dataclass(frozen=True, kw_only=True)
class PicturesOrScenes(Inputs):
    """Inputs of every command that trains on images."""

    images: Path | None = None
    """Folder of images."""
    scenes: int = 0
    """Train on this many built-in scenes instead."""

    MAIN: ClassVar = "images"

    def check(self) -> None:
        if (self.images is None) == (self.scenes == 0):
            raise OptionMessageError(
                "give either {images} with a folder, or {scenes} with a number of built-in scenes."
            )
        if self.images is None and not FEWEST_SCENES <= self.scenes <= MOST_SCENES:
            raise OptionMessageError(f"{{scenes}} must be from {FEWEST_SCENES} to {MOST_SCENES:,}.")


@dataclass(frozen=True, kw_only=True)
class GivenPictures(PicturesOrScenes):
    """Inputs for a new model."""

    size: int | None = None
    """Resize all images to this many pixels on a side."""

    @property
    def side(self) -> int:
        """Pixels on a side of a built-in scene."""
        return side_of_scenes(self.size)


def side_of_scenes(size: int | None) -> int:
    from qkv.data.worlds.labelled_scenes import check_side
    from qkv.data.worlds.scenes import SIDE

    side = size or SIDE
    check_side(side)
    return side


def width_of(base: Path, *path: str) -> int | None:
    """The width in the config.json of a bundle, or None. Does not open the model."""
    from qkv.checkpoint.bundle import read_config

    found: Any = read_config(base)
    for name in ("model", *path, "stack", "width"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int) else None
