"""Write the log for TensorBoard too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qkv.errors import MissingExtraError
from qkv.training.position import Position
from qkv.training.watch import Watch

FOLDER = "tensorboard"  # in OUT/training


class Scalars:
    """A Watch that writes what is logged to TensorBoard and passes everything to another Watch."""

    def __init__(self, inner: Watch, folder: Path):
        self.inner, self.folder = inner, folder
        self.writer: Any = None

    def on_step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        self.inner.on_step(position, progress, loss, tokens_per_second)

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        self.inner.on_validation(position, loss, improved)

    def warn(self, sentence: str) -> None:
        self.inner.warn(sentence)

    def on_work(self, what: str, completed: int, total: int) -> None:
        self.inner.on_work(what, completed, total)

    def on_log(self, facts: Mapping[str, Any]) -> None:
        self.inner.on_log(facts)
        step = facts["step"]
        if self.writer is None:  # a resumed run may repeat steps that were written before
            self.writer = summary_writer()(str(self.folder), purge_step=step)
        for name, value in facts.items():
            if name != "step":
                self.writer.add_scalar(name, value, step)
        self.writer.flush()


def summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("--tensorboard", package="tensorboard", extra="tensorboard") from None
    return SummaryWriter
