"""Snapshots: the weights of the last validations, which are averaged at the end of a run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from qkv.checkpoint.files import make_folders
from qkv.checkpoint.tensors import read_tensors, write_tensors
from qkv.errors import QkvError


class Snapshots:
    """The files of a run's snapshots. The run's position lists the steps that count."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.outdated: list[int] = []  # steps whose files can be deleted when the next state is saved

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step}.safetensors"

    def write(self, step: int, weights: Mapping[str, Tensor]) -> None:
        make_folders(self.folder)
        write_tensors(self.path(step), weights)

    def keep_newest(self, steps: Sequence[int], count: int) -> list[int]:
        """The last `count` steps. The others are outdated."""
        self.outdated += steps[:-count]
        return list(steps[-count:])

    def find_outdated(self, steps: Sequence[int]) -> None:
        """Find files that were outdated when the run was interrupted, but not deleted yet."""
        names = [path.stem[5:] for path in self.folder.glob("step-*.safetensors")]
        on_disk = [int(name) for name in names if name.isdecimal()]  # another name is a user's own copy
        self.outdated = [step for step in on_disk if step < min(steps, default=0)]

    def delete_outdated(self) -> None:
        for step in self.outdated:
            self.path(step).unlink(missing_ok=True)
        self.outdated = []

    def average(
        self, steps: Sequence[int], warn: Callable[[str], None]
    ) -> tuple[dict[str, Tensor], list[int]]:
        """The mean of the snapshots that are intact, and their steps. Both are empty if there are none."""
        total: dict[str, Tensor] = {}
        intact = []
        for step in steps:
            try:
                weights = read_tensors(self.path(step))
            except QkvError as error:
                warn(f"left out of the average: {error}")
                continue
            intact.append(step)
            for name, tensor in weights.items():
                total[name] = total[name] + tensor if name in total else tensor
        return {name: tensor / len(intact) for name, tensor in total.items()}, intact
