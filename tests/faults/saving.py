"""A log and states to save, small enough to be saved a thousand times."""

from pathlib import Path

import torch
from torch import Tensor

from qkv.checkpoint.files import bytes_hash
from qkv.checkpoint.state import State, load_latest, save_state
from qkv.checkpoint.tensors import tensors_hash
from qkv.training.log import Log

RUN = {"settings": "a1", "training data": "b2"}
OLD, NEW, NEXT = 10, 20, 30


def tensors_of(step: int) -> dict[str, dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(step)
    return {
        name: {"weight": torch.randn(7, 5, generator=generator), "bias": torch.randn(5, generator=generator)}
        for name in ("model", "optimiser")
    }


class Saving:
    """A run that writes a line for each step and saves now and then."""

    def __init__(self, folder: Path):
        self.folder, self.log = folder, Log(folder / "log.jsonl")

    def save(self, step: int) -> None:
        self.log.add({"step": step, "loss": 1 / step})
        facts = {"position": step, "log": self.log.sync()}
        save_state(self.folder, State(step=step, run=RUN, facts=facts, tensors=tensors_of(step)))


def wrong_with(folder: Path, wanted: set[int]) -> str | None:
    """Why what is on the disk is not a whole state of one of these steps, with its log; None where all is well."""
    state, _ = load_latest(folder, RUN)
    if state is None or state.step not in wanted:
        return f"found {None if state is None else state.step}, not one of {sorted(wanted)}"
    for name, tensors in tensors_of(state.step).items():
        if tensors_hash(tensors) != tensors_hash(state.tensors[name]):
            return f"the tensors of {name} are others"
    log = state.facts["log"]
    lines = (folder / "log.jsonl").read_bytes()[: log["bytes"]]
    return None if bytes_hash(lines) == log["sha256"] else "the log is another"
