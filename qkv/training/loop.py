"""One loop for every model: it knows `model.loss(batch)`, batches, and how to keep what it has reached."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from qkv.checkpoint.files import read_tensors, write_tensors
from qkv.checkpoint.state import State, save_state
from qkv.errors import UserError
from qkv.training.distributed import Group
from qkv.training.gradients import Gradients
from qkv.training.optimiser import Optimiser
from qkv.training.randomness import seed_for
from qkv.training.schedule import rate_at
from qkv.training.settings import TrainingSettings
from qkv.training.signals import StopRequest

LOG_EVERY = 25  # steps
BAD_BATCHES = 20  # so many losses that are not a number may be skipped in a run


class Data(Protocol):
    """Batches by epoch, whose order and content are functions of its seed alone.

    `batch` and `tokens` speak of the epoch that was asked for last.
    """

    def epoch(self, seed: int) -> Sequence[list[int]]: ...

    def batch(self, rows: list[int]) -> Any: ...

    def __len__(self) -> int: ...

    def tokens(self, rows: list[int]) -> int: ...  # real target tokens, padding not counted


@dataclass(kw_only=True)
class Position:
    """Where a run stands. With the weights and the optimiser's tensors this is all of its state."""

    step: int = 0
    epoch: int = 0
    cursor: int = 0  # batches of this epoch that are done
    seconds: float = 0.0
    tokens: int = 0
    best_loss: float = math.inf
    best_step: int = 0
    bad_batches: int = 0
    snapshots: list[int] = field(default_factory=list)  # steps, oldest first

    def facts(self) -> dict[str, Any]:
        # JSON has no infinity
        return {**self.__dict__, "best_loss": self.best_loss if math.isfinite(self.best_loss) else None}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Position":
        return cls(**{**facts, "best_loss": math.inf if facts["best_loss"] is None else facts["best_loss"]})


class Watch(Protocol):
    """Who looks on: the terminal, a test, or nobody."""

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None: ...

    def validated(self, position: Position, loss: float, improved: bool) -> None: ...

    def warn(self, sentence: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the loop needs beside the model and the data."""

    settings: TrainingSettings
    seed: int
    steps: int | None
    minutes: float | None
    folder: Path  # OUT/training

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise UserError("training needs an end: give --steps or --minutes.")

    def progress(self, position: Position) -> float:
        """The share of the run that is over, by whichever end comes first."""
        by_steps = 0.0 if self.steps is None else position.step / max(1, self.steps)
        by_time = 0.0 if self.minutes is None else position.seconds / max(1e-9, 60 * self.minutes)
        return min(1.0, max(by_steps, by_time))


class Run:
    """A training run: `go` until its end, an interruption, or no more improvement."""

    def __init__(
        self,
        model: nn.Module,
        train: Data,
        valid: Data,
        plan: Plan,
        keep: Callable[[], None],  # called with the model in its best state so far
        watch: Watch,
        device: torch.device,
        group: Group,
    ):
        self.model, self.train, self.valid, self.plan = model, train, valid, plan
        self.keep, self.watch, self.device = keep, watch, device
        self.group = group
        self.writes = self.group.rank == 0  # the other processes compute alike and touch no file
        self.gradients = Gradients(model.parameters(), self.group, notes=3)
        self.optimiser = Optimiser(model, plan.settings, self.gradients)
        self.rate = 0.0  # of the last step
        self.batches_of_epoch = 1
        self.position = Position()
        self.log_path = plan.folder / "log.jsonl"

    def resume(self, state: State) -> None:
        self.model.load_state_dict(state.tensors["model"])
        self.optimiser.restore(state.tensors["optimiser"])
        self.position = Position.from_facts(state.facts["position"])
        self.batches_of_epoch = len(self.train.epoch(self.order_of_epoch()))
        if self.writes:
            with open(self.log_path, "a+b") as file:
                file.truncate(
                    min(file.seek(0, 2), state.facts["log_bytes"])
                )  # a power cut may have shortened it

    def go(self, stop: StopRequest) -> bool:
        """Train; was it to the end? Whatever ends it, the state on disk is that of the last whole step."""
        if self.writes:
            self.plan.folder.mkdir(parents=True, exist_ok=True)
        position = self.position
        clock = Clock(position.seconds)
        stopping = False
        while not stopping and self.plan.progress(position) < 1.0 and not self.out_of_patience():
            batches = self.train.epoch(self.order_of_epoch())
            self.batches_of_epoch = len(batches)
            mean = Mean()
            for rows in batches[position.cursor :]:
                began = clock.seconds()
                loss, stopping = self.one_step(rows, stop.asked is not None, began)
                mean.add(loss, self.train.tokens(rows), clock.seconds() - began)
                if self.writes:
                    progress = self.plan.progress(position)
                    self.watch.step(position, progress, mean.value(), mean.tokens_per_second())
                if position.step % LOG_EVERY == 0:
                    self.report(mean)
                    mean = Mean()
                over = self.plan.progress(position) >= 1.0
                if over or position.step % self.plan.settings.validate_every == 0:
                    self.validate(clock)
                    self.save()
                if over or stopping or self.out_of_patience():
                    break
            if position.cursor == len(batches):
                position.epoch, position.cursor = position.epoch + 1, 0
        position.seconds = clock.seconds()
        self.save()
        return not stopping

    def order_of_epoch(self) -> int:
        return seed_for(self.plan.seed, "order", self.position.epoch)

    def one_step(self, rows: list[int], stop: bool, seconds: float) -> tuple[float, bool]:
        """Forward, backward, clip, update; the loss, and whether any process was asked to stop.

        With the gradients travel the loss, the wish to stop and the first process's clock, so that all
        processes know the same. A loss or gradient that is no number never reaches the weights.
        """
        position, settings, gradients = self.position, self.plan.settings, self.gradients
        progress = self.plan.progress(position)  # before this step: the last one has some rate left
        position.step, position.cursor = position.step + 1, position.cursor + 1
        torch.manual_seed(seed_for(self.plan.seed, f"dropout/{self.group.rank}", position.step))
        self.model.train()
        gradients.zero()
        total, own = self.train.tokens(rows), self.group.share(rows)
        if own:
            batch = self.train.batch(own).to(self.device)
            loss = self.model.loss(batch) * (self.train.tokens(own) / total)  # type: ignore[operator]
            loss.backward()
            gradients.notes[0] = loss.detach()
        gradients.notes[1] = stop
        gradients.notes[2] = seconds if self.writes else 0.0
        gradients.add_up()
        norm = gradients.clip(settings.clip)
        value, stops, position.seconds = gradients.notes.tolist()
        if math.isfinite(value) and bool(norm.isfinite()):
            self.rate = rate_at(settings, position.step, progress)
            self.optimiser.step(self.rate)
        else:
            self.skip_bad_batch(value)
        position.tokens += total
        return value, stops > 0

    def skip_bad_batch(self, loss: float) -> None:
        position = self.position
        position.bad_batches += 1
        self.watch.warn(
            f"step {position.step}: the loss is {loss} or its gradient no number; this batch is skipped."
        )
        if position.bad_batches > BAD_BATCHES:
            raise UserError(
                f"{BAD_BATCHES} batches gave a loss or gradient that is no number; "
                f"try a lower --training.rate than {self.plan.settings.rate:g}."
            )

    def report(self, mean: "Mean") -> None:
        if not self.writes:
            return
        position, speed = self.position, mean.tokens_per_second()
        facts = {"loss": round(mean.value(), 5), "rate": self.rate, "tokens_per_second": round(speed)}
        self.log({"step": position.step, **facts, "seconds": round(position.seconds, 2)})

    def validate(self, clock: "Clock") -> None:
        """Look at the validation part, keep a snapshot, and the model itself where it is the best so far."""
        position, reached = self.position, clock.seconds()
        loss = validation_loss(self.model, self.valid, self.device, self.group)
        improved = loss < position.best_loss
        if improved:
            position.best_loss, position.best_step = loss, position.step
        position.snapshots.append(position.step)
        old = position.snapshots[: -max(1, self.plan.settings.average)]
        position.snapshots = position.snapshots[len(old) :]
        if not self.writes:
            return
        if improved:
            self.keep()
        write_tensors(self.snapshot(position.step), self.model.state_dict())
        for step in old:
            self.snapshot(step).unlink(missing_ok=True)
        facts = {"validation_loss": round(loss, 5), "seconds": round(reached, 2)}
        self.log({"step": position.step, **facts})
        self.watch.validated(position, loss, improved)

    def out_of_patience(self) -> bool:
        patience, position = self.plan.settings.patience, self.position
        waited = (position.step - position.best_step) // self.plan.settings.validate_every
        return patience > 0 and position.best_step > 0 and waited >= patience

    def averaged(self) -> dict[str, Tensor]:
        """The mean of the last snapshots, weight by weight."""
        total: dict[str, Tensor] = {}
        for step in self.position.snapshots:
            for name, tensor in read_tensors(self.snapshot(step)).items():
                total[name] = total[name] + tensor if name in total else tensor
        return {name: tensor / len(self.position.snapshots) for name, tensor in total.items()}

    def snapshot(self, step: int) -> Path:
        folder = self.plan.folder / "snapshots"
        folder.mkdir(exist_ok=True)
        return folder / f"step-{step}.safetensors"

    def save(self) -> None:
        if not self.writes:
            return
        log_bytes = self.log_path.stat().st_size if self.log_path.exists() else 0
        facts = {"position": self.position.facts(), "log_bytes": log_bytes}
        tensors = {"model": dict(self.model.state_dict()), "optimiser": self.optimiser.tensors()}
        save_state(self.plan.folder, State(step=self.position.step, facts=facts, tensors=tensors))

    def log(self, facts: dict[str, Any]) -> None:
        with open(self.log_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")


class Mean:
    """The mean loss per token, and the speed, since the last report."""

    def __init__(self) -> None:
        self.total, self.tokens, self.seconds = 0.0, 0, 0.0

    def add(self, loss: float, tokens: int, seconds: float = 0.0) -> None:
        if not math.isfinite(loss):  # that batch was skipped
            return
        self.total, self.tokens, self.seconds = (
            self.total + loss * tokens,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def value(self) -> float:
        return self.total / max(1, self.tokens)

    def tokens_per_second(self) -> float:
        return self.tokens / max(1e-9, self.seconds)


class Clock:
    """Seconds of training, those before an interruption included."""

    def __init__(self, before: float):
        self.began = time.monotonic() - before

    def seconds(self) -> float:
        return time.monotonic() - self.began


@torch.no_grad()
def validation_loss(model: nn.Module, data: Data, device: torch.device, group: Group) -> float:
    """Mean loss per token, without dropout or label smoothing; each process takes a share of the batches."""
    model.eval()
    mean = Mean()
    batches = data.epoch(0)
    for index in group.share(range(len(batches))):
        rows = batches[index]
        mean.add(model.loss(data.batch(rows).to(device)).item(), data.tokens(rows))  # type: ignore[operator]
    sums = torch.tensor([mean.total, mean.tokens], dtype=torch.float64)
    group.add_up(sums)
    total, tokens = sums.tolist()
    return total / max(1.0, tokens)
