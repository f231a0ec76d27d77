"""One loop for every model: it knows `model.loss(batch)`, batches, and how to keep what it has reached."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from qkv.checkpoint.files import make_folders, read_tensors, tensors_hash, write_tensors
from qkv.checkpoint.state import State, save_state
from qkv.errors import UserError
from qkv.training.distributed import Alone, Group
from qkv.training.log import Log
from qkv.training.optimiser import Optimiser
from qkv.training.randomness import seed_for
from qkv.training.schedule import rate_at
from qkv.training.settings import TrainingSettings
from qkv.training.signals import StopRequest
from qkv.training.spread import Part, Spread, device_of, load_weights, whole_ones

LOOK_EVERY = 25  # steps between two looks at the losses, where looking makes a device wait
PIECES_AT_ONCE = 1_024  # for a thread of a CPU: more of them are no faster, and need more memory
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
    kept_loss: float = math.inf  # of the model in the bundle: a full disk may have left an earlier one there
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
            raise UserError(
                f"this run was begun by another version of qkv, which notes {' and '.join(unknown)}: finish it with "
                "that one."
            )
        values: dict[str, Any] = {name: math.inf if value is None else value for name, value in facts.items()}
        return cls(**values)


class Watch(Protocol):
    """Who looks on: the terminal, a test, or nobody."""

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None: ...

    def validated(self, position: Position, loss: float, improved: bool) -> None: ...

    def warn(self, sentence: str) -> None: ...

    def logged(self, facts: Mapping[str, Any]) -> None: ...  # a line of the log

    def working(self, what: str, completed: int, total: int) -> None: ...  # after the last step: scoring etc.


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the loop needs beside the model and the data."""

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
            raise UserError("training needs an end: give --steps or --minutes.")

    def progress(self, position: Position) -> float:
        """The share of the run that is over, by whichever end comes first."""
        by_steps = 0.0 if self.steps is None else position.step / max(1, self.steps)
        by_time = 0.0 if self.minutes is None else position.seconds / max(1e-9, 60 * self.minutes)
        return min(1.0, max(by_steps, by_time))


@dataclass(frozen=True)
class Done:
    """A step that was computed, perhaps on a device that is still at it."""

    step: int
    loss: Tensor
    finite: Tensor
    tokens: int


class Run:
    """A training run: `go` until its end, an interruption, or no more improvement."""

    def __init__(
        self,
        spread: Spread,
        train: Data,
        valid: Data,
        plan: Plan,
        keep: Callable[
            [dict[str, Tensor], bool], None
        ],  # the weights at a validation; are they what the bundle shall hold?
        watch: Watch,
        group: Group,
    ):
        self.spread, self.model, self.train, self.valid, self.plan = spread, spread.model, train, valid, plan
        self.keep, self.watch, self.group = keep, Unhindered(watch), group
        self.device = device_of(self.model)
        self.look_every = 1 if self.device.type == "cpu" else LOOK_EVERY
        self.writes = self.group.rank == 0  # the other processes compute alike and touch no file
        self.optimiser = Optimiser(spread, plan.settings)
        self.parts = plan.settings.gradient_accumulation_steps or parts_that_fit(
            plan.settings.batch_tokens, group, self.device
        )
        self.rate = 0.0  # of the last step
        self.batches_of_epoch = 1
        self.position = Position()
        self.unseen: list[Done] = []  # steps whose losses nobody has looked at yet
        self.mean = Mean()  # since the last line of the log
        self.log = Log(plan.folder / "log.jsonl")  # the same for the same seed
        self.timing = Log(plan.folder / "timing.jsonl")  # and what is never the same
        self.saved: int | None = None  # the step of the last state on disk
        self.outdated: list[int] = []  # snapshots that no state needs when the next one is saved

    def resume(self, state: State) -> None:
        load_weights(self.model, state.tensors["model"])
        self.optimiser.restore(state.tensors["optimiser"])
        self.position = Position.from_facts(state.facts["position"])
        self.mean = Mean(**state.facts["mean"])
        self.group.wait()  # the processes may see the same weights, and none may change them yet
        self.batches_of_epoch = len(self.train.epoch(self.order_of_epoch()))
        self.saved = state.step
        if self.writes:
            self.outdated = self.left_over()
            for log, name in ((self.log, "log"), (self.timing, "timing")):
                fault = log.cut_back(state.facts[name])
                if fault:
                    self.watch.warn(fault)

    def go(self, stop: StopRequest) -> bool:
        """Train; was it to the end? Where a signal stops it, what was reached is saved."""
        if self.writes:
            self.plan.folder.mkdir(parents=True, exist_ok=True)
        position, settings = self.position, self.plan.settings
        clock = Clock(position.seconds)
        self.mean.since = clock.seconds()
        stopping = False
        while not stopping and self.plan.progress(position) < 1.0 and not self.out_of_patience():
            with self.mean.paused(clock):
                batches = self.train.epoch(self.order_of_epoch())
            self.batches_of_epoch = len(batches)
            for rows in batches[position.cursor :]:
                stopping = self.agree(stop, clock)
                self.unseen.append(self.one_step(rows))
                if settings.milestones and is_milestone(position.step):
                    self.keep_milestone()
                over = self.plan.progress(position) >= 1.0
                validates = over or position.step % settings.validate_every == 0
                reports = position.step % settings.log_every == 0
                if over or validates or reports or position.step % self.look_every == 0:
                    self.look(clock)
                if reports:
                    self.report(clock)
                if validates:
                    with self.mean.paused(clock):
                        loss, improved = self.validate(clock)
                        self.save()
                        if self.writes:
                            self.watch.validated(position, loss, improved)
                if over or stopping or self.out_of_patience():
                    break
            if position.cursor == len(batches):
                position.epoch, position.cursor = position.epoch + 1, 0
        self.look(clock)
        position.seconds = clock.seconds()
        self.save()
        return not stopping

    def order_of_epoch(self) -> int:
        return seed_for(self.plan.seed, "order", self.position.epoch)

    def agree(self, stop: StopRequest, clock: "Clock") -> bool:
        """Does any process wish to stop after this step? All take the time from the first one's clock."""
        stops, self.position.seconds = self.group.agree(
            stop.asked is not None, clock.seconds() if self.writes else 0.0
        )
        return stops > 0

    def one_step(self, rows: list[int]) -> Done:
        """Forward, backward, clip, update; nothing here waits for a device to tell a number.

        A loss or gradient that is no number never reaches the weights.
        """
        position, settings = self.position, self.plan.settings
        progress = self.plan.progress(position)  # before this step: the last one has some rate left
        position.step, position.cursor = position.step + 1, position.cursor + 1
        torch.manual_seed(seed_for(self.plan.seed, f"dropout/{self.group.rank}", position.step))
        self.model.train()
        loss = self.spread.backward(self.parts_of(rows))
        norm = self.spread.clip(settings.max_grad_norm)
        finite = loss.isfinite() & norm.isfinite()
        self.rate = rate_at(settings, position.step, progress)
        self.optimiser.step(self.rate, finite)
        tokens = self.train.tokens(rows)
        position.tokens += tokens
        return Done(position.step, loss, finite, tokens)

    def parts_of(self, rows: list[int]) -> list[Part]:
        """This process's share of a batch, in parts, each with its share of the tokens.

        Every process has the same number of parts, for they meet in each: where one has no row left, it computes the
        first row of all for nothing.
        """
        total, own, count = self.train.tokens(rows), self.group.share(rows), self.parts
        most = -(-len(rows) // self.group.size)  # rows of the process that has most
        parts = [own[number::count] for number in range(min(count, most))]
        return [
            (self.train.batch(part or rows[:1]).to(self.device), self.train.tokens(part) / total)
            for part in parts
        ]

    def look(self, clock: "Clock") -> None:
        """What the steps since the last look have given."""
        if not self.unseen:
            return
        position = self.position
        numbers = torch.stack(
            [torch.stack([done.loss, done.finite.to(done.loss.dtype)]) for done in self.unseen]
        )
        for done, (loss, finite) in zip(self.unseen, numbers.tolist(), strict=True):
            if finite:
                self.mean.add(loss, done.tokens)
            else:
                self.skipped(done.step, loss)
        self.unseen = []
        if self.writes:
            speed = self.mean.tokens_per_second(clock.seconds())
            self.watch.step(position, self.plan.progress(position), self.mean.value(), speed)

    def skipped(self, step: int, loss: float) -> None:
        self.position.bad_batches += 1
        if self.writes:
            self.watch.warn(
                f"step {step}: the loss is {loss} or its gradient no number; this batch is skipped."
            )
        if self.position.bad_batches > BAD_BATCHES:
            raise UserError(
                f"more than {BAD_BATCHES} batches gave a loss or gradient that is no number; "
                f"try a lower --learning-rate than {self.plan.settings.learning_rate:g}."
            )

    def report(self, clock: "Clock") -> None:
        """A line in the log."""
        position, mean, now = self.position, self.mean, clock.seconds()
        self.mean = Mean(since=now)
        facts = {"loss": round(mean.value(), 5), "learning_rate": self.rate, "tokens": position.tokens}
        timing = {
            "tokens_per_second": round(mean.tokens_per_second(now)),
            "seconds": round(position.seconds, 2),
        }
        self.note(facts, timing)

    def validate(self, clock: "Clock") -> tuple[float, bool]:
        """The loss on the validation part, and whether it is the best so far.

        A snapshot is kept, and the model itself where it is better than the one in the bundle.
        """
        position, reached = self.position, clock.seconds()
        loss = validation_loss(self.model, self.spread.loss, self.valid, self.group)
        if not math.isfinite(loss):
            self.validated_no_number(loss)
        improved = loss < position.best_loss
        if improved:
            position.best_loss, position.best_step = loss, position.step
        weights = whole_ones(self.model.state_dict(), self.writes)
        if not self.writes:
            return loss, improved
        better = loss < position.kept_loss or self.plan.settings.keep == "last"
        with self.going_on("the model"):
            self.keep(weights, better)
            if better:
                position.kept_loss, position.kept_step = loss, position.step
                position.kept_hash, position.kept_as = tensors_hash(weights), ""
        with self.going_on("a snapshot"):
            make_folders(self.snapshot(position.step).parent)
            write_tensors(self.snapshot(position.step), weights)
            position.snapshots.append(position.step)
            old = position.snapshots[: -self.plan.settings.average]
            position.snapshots, self.outdated = position.snapshots[len(old) :], [*self.outdated, *old]
        self.note({"validation_loss": round(loss, 5)}, {"seconds": round(reached, 2)})
        return loss, improved

    def validated_no_number(self, loss: float) -> None:
        """Where a model was measured before, it is kept and may still be surpassed; where none was, none would be kept."""
        step = self.position.step
        if self.position.best_loss == math.inf:
            raise UserError(
                f"step {step}: the validation loss is {loss}, so no model could be chosen; check the validation data, or "
                f"try a lower --learning-rate than {self.plan.settings.learning_rate:g}."
            )
        if self.writes:
            self.watch.warn(
                f"step {step}: the validation loss is {loss}; the best model so far is that of step "
                f"{self.position.best_step}."
            )

    def keep_milestone(self) -> None:
        """The weights of this step, for people who want to see how it went."""
        self.group.wait()  # until the others have updated their parts too
        weights = whole_ones(self.model.state_dict(), self.writes)
        if not self.writes:
            return
        path = self.plan.folder / "milestones" / f"step-{self.position.step}.safetensors"
        with self.going_on("a milestone"):
            make_folders(path.parent)
            write_tensors(path, weights)

    def out_of_patience(self) -> bool:
        patience, position = self.plan.settings.patience, self.position
        waited = (position.step - position.best_step) // self.plan.settings.validate_every
        return patience > 0 and position.best_step > 0 and waited >= patience

    def averaged(self) -> dict[str, Tensor]:
        """The mean of the last snapshots, weight by weight, of those that are whole; nothing where none is."""
        total: dict[str, Tensor] = {}
        whole_snapshots = []
        for step in self.position.snapshots:
            try:
                weights = read_tensors(self.snapshot(step))
            except UserError as error:
                self.watch.warn(f"left out of the average: {error}")
                continue
            whole_snapshots.append(step)
            for name, tensor in weights.items():
                total[name] = total[name] + tensor if name in total else tensor
        self.position.snapshots = whole_snapshots
        return {name: tensor / len(whole_snapshots) for name, tensor in total.items()}

    def snapshot(self, step: int) -> Path:
        return self.plan.folder / "snapshots" / f"step-{step}.safetensors"

    def left_over(self) -> list[int]:
        """Snapshots that were outdated already when the run was cut off, and not removed any more."""
        names = [path.stem[5:] for path in self.snapshot(0).parent.glob("step-*.safetensors")]
        on_disk = [int(name) for name in names if name.isdecimal()]  # another one is a person's own copy
        return [step for step in on_disk if step < min(self.position.snapshots, default=0)]

    def save(self) -> None:
        parts = {"model": self.model.state_dict(), "optimiser": self.optimiser.tensors()}
        tensors = {name: whole_ones(part, self.writes) for name, part in parts.items()}
        if not self.writes:
            return
        with self.going_on("a checkpoint"):
            facts = {
                "position": self.position.facts(),
                "mean": self.mean.facts(),
                "log": self.log.sync(),
                "timing": self.timing.sync(),
            }
            step, started_with = self.position.step, self.plan.started_with
            save_state(self.plan.folder, State(step=step, run=started_with, facts=facts, tensors=tensors))
            self.saved = step
            for old in self.outdated:
                self.snapshot(old).unlink(missing_ok=True)
            self.outdated = []

    @contextmanager
    def going_on(self, what: str) -> Iterator[None]:
        """A disk that is full, or fails, costs what would be written now, and nothing that was written before."""
        try:
            yield
        except OSError as error:
            before = (
                "what was saved before is whole" if self.saved else "no checkpoint is there yet: make room"
            )
            self.watch.warn(
                f"step {self.position.step}: {what} could not be written ({error}); {before}, and training goes on."
            )

    def note(self, facts: dict[str, Any], timing: dict[str, Any]) -> None:
        """A line in the log, and one about the clock."""
        if self.writes:
            step = {"step": self.position.step}
            for log, line in ((self.log, step | facts), (self.timing, step | timing)):
                with self.going_on(log.path.name):
                    log.add(line)
            self.watch.logged(step | facts | timing)


class Unhindered:
    """A watch whose own troubles, such as output that goes to a full disk, are not those of the run."""

    def __init__(self, inner: Watch):
        self.inner = inner

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        with suppress(OSError):
            self.inner.step(position, progress, loss, tokens_per_second)

    def validated(self, position: Position, loss: float, improved: bool) -> None:
        """Here an example is decoded by a half-trained model, of which anything may go wrong."""
        try:
            self.inner.validated(position, loss, improved)
        except OSError:
            return
        except Exception as error:
            self.warn(
                f"step {position.step}: what the model does now could not be shown ({type(error).__name__}: {error}); "
                "training goes on."
            )

    def warn(self, sentence: str) -> None:
        with suppress(OSError):
            self.inner.warn(sentence)

    def logged(self, facts: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self.inner.logged(facts)

    def working(self, what: str, completed: int, total: int) -> None:
        with suppress(OSError):
            self.inner.working(what, completed, total)


class Mean:
    """The mean loss per token, and the speed, since some time on the run's clock."""

    def __init__(self, since: float = 0.0, total: float = 0.0, tokens: int = 0) -> None:
        self.since, self.total, self.tokens = since, total, tokens

    def facts(self) -> dict[str, Any]:
        return {"total": self.total, "tokens": self.tokens}

    def add(self, loss: float, tokens: int) -> None:
        self.total, self.tokens = self.total + loss * tokens, self.tokens + tokens

    @contextmanager
    def paused(self, clock: "Clock") -> Iterator[None]:
        """In here no step is made."""
        began = clock.seconds()
        yield
        self.since += clock.seconds() - began

    def value(self) -> float:
        return self.total / max(1, self.tokens)

    def tokens_per_second(self, now: float) -> float:
        return self.tokens / max(1e-9, now - self.since)


def is_milestone(step: int) -> bool:
    """8, 16, 32, 64 …: much happens early, little late."""
    return step >= 8 and step & (step - 1) == 0


class Clock:
    """Seconds of training, those before an interruption included."""

    def __init__(self, before: float):
        self.began = time.monotonic() - before

    def seconds(self) -> float:
        return time.monotonic() - self.began


def parts_that_fit(batch_tokens: int, group: Group, device: torch.device) -> int:
    """The same for every process of the group, where they have the same number of threads."""
    if device.type != "cpu":
        return 1
    return max(1, round(batch_tokens / group.size / (PIECES_AT_ONCE * torch.get_num_threads())))


@torch.no_grad()
def validation_loss(model: nn.Module, loss: Callable[[Any], Tensor], data: Data, group: Group) -> float:
    """Mean loss per token, as the model has it outside of training; each process takes a share of the batches.

    Where one has a batch less than others it computes the first for nothing: they may meet in every batch.
    """
    model.eval()
    device, batches = device_of(model), data.epoch(0)
    shares = group.share(range(len(batches)))
    most = -(-len(batches) // group.size)
    sums = torch.zeros(2, dtype=torch.float64)
    for index in [*shares, *[None] * (most - len(shares))]:
        rows = batches[index or 0]
        tokens = 0 if index is None else data.tokens(rows)
        value = loss(data.batch(rows).to(device)).cpu().double()
        sums += torch.stack([value * tokens, torch.tensor(float(tokens), dtype=torch.float64)])
    total, tokens_of_all = group.agree(*sums.tolist())
    return total / max(1.0, tokens_of_all)


def loss_on(model: nn.Module, data: Data) -> float:
    """The validation loss of a whole model in this process."""
    return validation_loss(model, model.loss, data, Alone())  # type: ignore[arg-type]
