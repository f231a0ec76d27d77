"""Inputs of training that several families share: files of text, and files of labelled examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.cli.inputs import OptionalFile, OptionalModel
from qkv.errors import QkvError
from qkv.training.trainable import Inputs


@dataclass(frozen=True, kw_only=True)
class LabelInputs(Inputs):
    fine_tune: OptionalModel = None
    """Folder of the model to fine-tune."""
    labels: OptionalFile = None
    """Labelled texts: text, tab, label; or two texts and a label. A header line may name the columns."""
    valid_labels: OptionalFile = None
    """Labelled texts to validate on; by default some of --labels are held out."""
    columns: str = ""
    """Columns of the files: text,label or text,second,label, by name or by number from 1."""

    def model_and_labels(self) -> tuple[Path, Path]:
        """The model and the labels."""
        if self.fine_tune is None or self.labels is None:
            raise QkvError("fine-tuning needs a model and examples: give both --fine-tune and --labels.")
        return self.fine_tune, self.labels


def width_of(base: Path, *path: str) -> int | None:
    """The width in the config.json of a bundle, or None. Does not open the model."""
    from qkv.checkpoint.bundle import read_config

    found: Any = read_config(base)
    for name in ("model", *path, "stack", "width"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int) else None
