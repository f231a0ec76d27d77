"""What a family implements to be trained: `Task`, and what a task makes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from qkv.checkpoint.bundle import save_report
from qkv.training.batches import Data
from qkv.training.card import Purpose, model_card
from qkv.training.loop import Run
from qkv.training.product import ProductType
from qkv.training.report import facts_of_run
from qkv.training.selection import ChosenWeights
from qkv.training.settings import RunSettings, TuningSettings
from qkv.training.watch import Watch

ANY_PURPOSE = Purpose(
    task="", command="qkv info .", python="model.info()", use="See the family of this model."
)

Tuning = TypeVar("Tuning", bound=TuningSettings)


@dataclass(frozen=True, kw_only=True)
class Assembled(Generic[ProductType]):
    """The model with its first weights, and what it is trained and validated on."""

    product: ProductType
    train: Data
    valid: Data


class Counter:
    """Counts finished work and reports it."""

    def __init__(self, on_work: Callable[[str, int, int], None], what: str, total: int):
        self.on_work, self.what, self.total, self.completed = on_work, what, total, 0
        on_work(what, 0, total)

    def __call__(self, count: int) -> None:
        # A long text is counted once for each of its segments.
        self.completed = min(self.total, self.completed + count)
        self.on_work(self.what, self.completed, self.total)


@dataclass(frozen=True)
class Example(Generic[ProductType]):
    """An output to show at every validation."""

    title: str
    make: Callable[[ProductType], str]


class Task(ABC, Generic[ProductType]):
    """How one kind of model is trained. Each family writes its own; everything below is shared."""

    settings: RunSettings
    unit: ClassVar[str] = "tokens"  # what the speed counts

    @property
    @abstractmethod
    def width(self) -> int:
        """Width of the model."""

    @abstractmethod
    def fingerprint(self) -> dict[str, str]:
        """Hashes of the data under names that a user understands. A resumed run must have the same."""

    def files(self) -> dict[str, bytes]:
        """Files that are made once and kept in OUT/training, such as a learned vocabulary."""
        return {}

    @abstractmethod
    def assemble(self, folder: Path) -> Assembled[ProductType]:
        """Build the model and its data from those files in `folder`. torch is seeded for the initial weights."""

    def finish(self, product: ProductType, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        """Evaluate the product, which has the chosen weights and is saved. Write the report to the bundle and return it."""
        report = {
            **facts_of_run(run, product.model, chosen, self.settings, counted=self.unit),
            "data": {"origin": ", ".join(self.fingerprint())},
            "results": {"validation loss": f"{chosen.loss:.4f}"},
        }
        save_report(out, report, model_card(type(product).__name__, ANY_PURPOSE, report))
        return report

    def example(self) -> Example[ProductType] | None:
        return None

    def wrap_watch(self, watch: Watch, product: ProductType, out: Path) -> Watch:
        """A watch that also records what this task measures during training."""
        return watch


def with_epochs(settings: Tuning, data: Callable[[], Data]) -> Tuning:
    """The settings with the number of steps for their epochs, unless steps or minutes are given."""
    if settings.steps is not None or settings.minutes is not None:
        return settings
    steps = max(1, round(settings.epochs * len(data().epoch(0))))
    often = max(1, min(settings.training.validate_every, steps // 3))
    return replace(settings, steps=steps, training=replace(settings.training, validate_every=often))
