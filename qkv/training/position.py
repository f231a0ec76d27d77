"""How far a run is, and where it ends."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from qkv.errors import QkvError
from qkv.training.settings import TrainingSettings


@dataclass(kw_only=True)
class Position:
    """How far a run is. Together with the weights and the optimizer's tensors this is its whole state."""

    step: int = 0
    epoch: int = 0
    cursor: int = 0  # finished batches of this epoch
    seconds: float = 0.0
    tokens: int = 0
    best_loss: float = math.inf
    best_step: int = 0
    kept_loss: float = math.inf  # of the model in the bundle, which may not be the best if the disk was full
    kept_step: int = 0
    kept_hash: str = ""  # of its weights
    kept_as: str = ""  # what it is, if not the snapshot of that step
    bad_batches: int = 0
    snapshots: list[int] = field(default_factory=list)  # steps, oldest first

    def facts(self) -> dict[str, Any]:
        """JSON has no infinity."""
        return {name: None if value == math.inf else value for name, value in self.__dict__.items()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Position":
        unknown = sorted(facts.keys() - {each.name for each in fields(cls)})
        if unknown:
            raise QkvError(
                f"this run was started by another version of qkv, which stores {' and '.join(unknown)}. Resume it with "
                "that version."
            )
        values: dict[str, Any] = {name: math.inf if value is None else value for name, value in facts.items()}
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the loop needs besides the model and the data."""

    settings: TrainingSettings
    seed: int
    steps: int | None
    minutes: float | None
    folder: Path  # OUT/training
    started_with: Mapping[str, str] = field(
        default_factory=dict
    )  # hashes of settings and data, for the states

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise QkvError("training needs a limit. Give steps or minutes.")

    def progress(self, position: Position) -> float:
        """The share of the run that is done, by the limit that is closer."""
        by_steps = 0.0 if self.steps is None else position.step / max(1, self.steps)
        by_time = 0.0 if self.minutes is None else position.seconds / max(1e-9, 60 * self.minutes)
        return min(1.0, max(by_steps, by_time))
