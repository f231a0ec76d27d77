"""Names in the folder of a training run, OUTPUT/training."""

from pathlib import Path

RUN_FILE = "run.json"
"""The settings and the data of the run. It exists as soon as the run has started."""


def state_folder(folder: Path, step: int) -> Path:
    """The checkpoint of a step."""
    return folder / f"step-{step}"
