"""The lines of log.jsonl for TensorBoard as well."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qkv.errors import UserError
from qkv.training.loop import Position, Watch

FOLDER = "tensorboard"  # in OUT/training


class Scalars:
    """A Watch that notes what is logged and hands everything on to another one."""

    def __init__(self, inner: Watch, folder: Path):
        self.inner, self.folder = inner, folder
        self.writer: Any = None

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        self.inner.step(position, progress, loss, tokens_per_second)

    def validated(self, position: Position, loss: float, improved: bool) -> None:
        self.inner.validated(position, loss, improved)

    def warn(self, sentence: str) -> None:
        self.inner.warn(sentence)

    def working(self, what: str, completed: int, total: int) -> None:
        self.inner.working(what, completed, total)

    def logged(self, facts: Mapping[str, Any]) -> None:
        self.inner.logged(facts)
        step = facts["step"]
        if self.writer is None:  # a resumed run has perhaps shown steps before that it now makes again
            self.writer = summary_writer()(str(self.folder), purge_step=step)
        for name, value in facts.items():
            if name != "step":
                self.writer.add_scalar(name, value, step)
        self.writer.flush()


def summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package tensorboard: install qkv[tensorboard], or leave the option out."
        ) from None
    return SummaryWriter
