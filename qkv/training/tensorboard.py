"""Write the log for TensorBoard too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qkv.errors import MissingExtraError
from qkv.training.watch import ForwardingWatch, Watch

FOLDER = "tensorboard"  # in OUT/training


class Scalars(ForwardingWatch):
    """A Watch that writes what is logged to TensorBoard and passes everything to another Watch."""

    def __init__(self, inner: Watch, folder: Path):
        super().__init__(inner)
        self.folder = folder
        self.writer: Any = None

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
        raise MissingExtraError(
            "the log for TensorBoard", package="tensorboard", extra="tensorboard"
        ) from None
    return SummaryWriter
