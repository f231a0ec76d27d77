"""The training loop for every model. It needs `model.loss(batch)` and batches; it validates, logs and saves."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from qkv.checkpoint.files import make_folders
from qkv.checkpoint.state import State, save_state
from qkv.checkpoint.tensors import read_tensors, tensors_hash, write_tensors
from qkv.errors import UserError
from qkv.training.distributed import Alone, Group
from qkv.training.log import Log
from qkv.training.optimiser import Optimiser
from qkv.training.randomness import seed_for
from qkv.training.schedule import rate_at
from qkv.training.settings import TrainingSettings
from qkv.training.signals import StopRequest
from qkv.training.spread import Part, Spread, device_of, gather_tensors, load_weights

READ_EVERY = 25  # steps between two reads of the losses if reading makes a device wait
TOKENS_AT_ONCE = 1_024  # per CPU thread: more are not faster and need more memory
BAD_BATCHES = 20  # that a run may skip because of a NaN or infinite loss or gradient


class Data(Protocol):
    """Batches by epoch. Their order and content depend on the seed alone.

    `batch` and `tokens` refer to the last call of `epoch`.
    """

    def epoch(self, seed: int) -> Sequence[list[int]]: ...

    def batch(self, rows: list[int]) -> Any: ...

    def __len__(self) -> int: ...

    def tokens(self, rows: list[int]) -> int: ...  # target tokens without padding


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
            raise UserError(
                f"this run was started by another version of qkv, which stores {' and '.join(unknown)}. Resume it with "
                "that version."
            )
        values: dict[str, Any] = {name: math.inf if value is None else value for name, value in facts.items()}
        return cls(**values)


class Watch(Protocol):
    """Receives progress: the terminal or a test."""

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None: ...

    def validated(self, position: Position, loss: float, improved: bool) -> None: ...

    def warn(self, sentence: str) -> None: ...

    def logged(self, facts: Mapping[str, Any]) -> None: ...  # a line of the log

    def working(self, what: str, completed: int, total: int) -> None: ...  # after the last step: scoring etc.


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
            raise UserError("training needs a limit. Give steps or minutes.")

    def progress(self, position: Position) -> float:
        """The share of the run that is done, by the limit that is closer."""
        by_steps = 0.0 if self.steps is None else position.step / max(1, self.steps)
        by_time = 0.0 if self.minutes is None else position.seconds / max(1e-9, 60 * self.minutes)
        return min(1.0, max(by_steps, by_time))


@dataclass(frozen=True)
class Done:
    """A step whose results a device may still be computing."""

    step: int
    loss: Tensor
    finite: Tensor
    tokens: int


class Run:
    """A training run: `go` trains until its limit, an interruption, or no more improvement."""

    def __init__(
        self,
        spread: Spread,
        train: Data,
        valid: Data,
        plan: Plan,
        keep: Callable[
            [dict[str, Tensor], bool], None
        ],  # the weights at a validation, and whether to save the bundle
        watch: Watch,
        group: Group,
    ):
        self.spread, self.model, self.train, self.valid, self.plan = spread, spread.model, train, valid, plan
        self.keep, self.watch, self.group = keep, SafeWatch(watch), group
        self.device = device_of(self.model)
        self.read_every = 1 if self.device.type == "cpu" else READ_EVERY
        self.writes = self.group.rank == 0  # the other processes write no files
        self.optimiser = Optimiser(spread, plan.settings)
        self.parts = plan.settings.gradient_accumulation_steps or parts_that_fit(
            plan.settings.batch_tokens, group, self.device
        )
        self.rate = 0.0  # of the last step
        self.batches_of_epoch = 1
        self.position = Position()
        self.unread: list[Done] = []  # steps whose losses were not read yet
        self.mean = Mean()  # since the last line of the log
        self.log = Log(plan.folder / "log.jsonl")  # the same for the same seed
        self.timing = Log(plan.folder / "timing.jsonl")  # different in every run
        self.saved: int | None = None  # step of the last state on disk
        self.outdated: list[int] = []  # snapshots that can be deleted when the next state is saved

    def resume(self, state: State) -> None:
        load_weights(self.model, state.tensors["model"])
        self.optimiser.restore(state.tensors["optimiser"])
        self.position = Position.from_facts(state.facts["position"])
        self.mean = Mean(**state.facts["mean"])
        self.group.wait()  # the processes may share the weights, and none may change them yet
        self.batches_of_epoch = len(self.train.epoch(self.order_of_epoch()))
        self.saved = state.step
        if self.writes:
            self.outdated = self.left_over()
            for log, name in ((self.log, "log"), (self.timing, "timing")):
                fault = log.cut_back(state.facts[name])
                if fault:
                    self.watch.warn(fault)

    def go(self, stop: StopRequest) -> bool:
        """Train, and save when a signal stops it. Return whether the run reached its end."""
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
                self.unread.append(self.one_step(rows))
                if settings.milestones and is_milestone(position.step):
                    self.keep_milestone()
                over = self.plan.progress(position) >= 1.0
                validates = over or position.step % settings.validate_every == 0
                reports = position.step % settings.log_every == 0
                if over or validates or reports or position.step % self.read_every == 0:
                    self.read_losses(clock)
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
        self.read_losses(clock)
        position.seconds = clock.seconds()
        self.save()
        return not stopping

    def order_of_epoch(self) -> int:
        return seed_for(self.plan.seed, "order", self.position.epoch)

    def agree(self, stop: StopRequest, clock: "Clock") -> bool:
        """Does any process want to stop after this step? All processes use the clock of the first."""
        stops, self.position.seconds = self.group.agree(
            stop.asked is not None, clock.seconds() if self.writes else 0.0
        )
        return stops > 0

    def one_step(self, rows: list[int]) -> Done:
        """Forward, backward, clip, update. Nothing here waits for a device.

        A NaN or infinite loss or gradient never changes the weights.
        """
        position, settings = self.position, self.plan.settings
        progress = self.plan.progress(position)  # before this step, so that the last one has a rate above 0
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

        Every process needs the same number of parts, because they synchronize in each. One without rows left computes
        the first row with weight 0.
        """
        total, own, count = self.train.tokens(rows), self.group.share(rows), self.parts
        most = -(-len(rows) // self.group.size)  # rows of the process with the most
        parts = [own[number::count] for number in range(min(count, most))]
        return [
            (self.train.batch(part or rows[:1]).to(self.device), self.train.tokens(part) / total)
            for part in parts
        ]

    def read_losses(self, clock: "Clock") -> None:
        """Read the losses of the steps since the last call."""
        if not self.unread:
            return
        position = self.position
        numbers = torch.stack(
            [torch.stack([done.loss, done.finite.to(done.loss.dtype)]) for done in self.unread]
        )
        for done, (loss, finite) in zip(self.unread, numbers.tolist(), strict=True):
            if finite:
                self.mean.add(loss, done.tokens)
            else:
                self.count_bad_batch(done.step)
        self.unread = []
        if self.writes:
            speed = self.mean.tokens_per_second(clock.seconds())
            self.watch.step(position, self.plan.progress(position), self.mean.value(), speed)

    def count_bad_batch(self, step: int) -> None:
        self.position.bad_batches += 1
        if self.writes:
            self.watch.warn(f"step {step}: non-finite loss or gradient; skipping this batch.")
        if self.position.bad_batches > BAD_BATCHES:
            raise UserError(
                f"more than {BAD_BATCHES} batches gave a non-finite loss or gradient. "
                f"Try a learning rate below {self.plan.settings.learning_rate:g}."
            )

    def report(self, clock: "Clock") -> None:
        """Write a line to the log."""
        position, mean, now = self.position, self.mean, clock.seconds()
        self.mean = Mean(since=now)
        facts = {"loss": round(mean.value(), 5), "learning_rate": self.rate, "tokens": position.tokens}
        timing = {
            "tokens_per_second": round(mean.tokens_per_second(now)),
            "seconds": round(position.seconds, 2),
        }
        self.note(facts, timing)

    def validate(self, clock: "Clock") -> tuple[float, bool]:
        """The validation loss, and whether it is the best so far.

        This writes a snapshot, and saves the model if it is better than the one in the bundle.
        """
        position, reached = self.position, clock.seconds()
        loss = validation_loss(self.model, self.spread.loss, self.valid, self.group)
        if not math.isfinite(loss):
            self.handle_bad_validation(loss)
        improved = loss < position.best_loss
        if improved:
            position.best_loss, position.best_step = loss, position.step
        weights = gather_tensors(self.model.state_dict(), self.writes)
        if not self.writes:
            return loss, improved
        better = loss < position.kept_loss or self.plan.settings.keep == "last"
        with self.tolerate_write_errors("the model"):
            self.keep(weights, better)
            if better:
                position.kept_loss, position.kept_step = loss, position.step
                position.kept_hash, position.kept_as = tensors_hash(weights), ""
        with self.tolerate_write_errors("a snapshot"):
            make_folders(self.snapshot(position.step).parent)
            write_tensors(self.snapshot(position.step), weights)
            position.snapshots.append(position.step)
            old = position.snapshots[: -self.plan.settings.average]
            position.snapshots, self.outdated = position.snapshots[len(old) :], [*self.outdated, *old]
        self.note({"validation_loss": round(loss, 5)}, {"seconds": round(reached, 2)})
        return loss, improved

    def handle_bad_validation(self, loss: float) -> None:
        """Warn if an earlier model was kept. If none was, training cannot produce one."""
        step = self.position.step
        if self.position.best_loss == math.inf:
            raise UserError(
                f"step {step}: the validation loss is {loss}, so no model can be chosen. Check the validation data, or "
                f"try a learning rate below {self.plan.settings.learning_rate:g}."
            )
        if self.writes:
            self.watch.warn(
                f"step {step}: the validation loss is {loss}; the best model is still that of step "
                f"{self.position.best_step}."
            )

    def keep_milestone(self) -> None:
        """Keep the weights of this step, for the explorer."""
        self.group.wait()  # until the others have updated their parts
        weights = gather_tensors(self.model.state_dict(), self.writes)
        if not self.writes:
            return
        path = self.plan.folder / "milestones" / f"step-{self.position.step}.safetensors"
        with self.tolerate_write_errors("a milestone"):
            make_folders(path.parent)
            write_tensors(path, weights)

    def out_of_patience(self) -> bool:
        patience, position = self.plan.settings.patience, self.position
        waited = (position.step - position.best_step) // self.plan.settings.validate_every
        return patience > 0 and position.best_step > 0 and waited >= patience

    def averaged(self) -> dict[str, Tensor]:
        """The mean of the last snapshots that are intact. Empty if there are none."""
        total: dict[str, Tensor] = {}
        intact = []
        for step in self.position.snapshots:
            try:
                weights = read_tensors(self.snapshot(step))
            except UserError as error:
                self.watch.warn(f"left out of the average: {error}")
                continue
            intact.append(step)
            for name, tensor in weights.items():
                total[name] = total[name] + tensor if name in total else tensor
        self.position.snapshots = intact
        return {name: tensor / len(intact) for name, tensor in total.items()}

    def snapshot(self, step: int) -> Path:
        return self.plan.folder / "snapshots" / f"step-{step}.safetensors"

    def left_over(self) -> list[int]:
        """Snapshots that were outdated when the run was interrupted, but not removed yet."""
        names = [path.stem[5:] for path in self.snapshot(0).parent.glob("step-*.safetensors")]
        on_disk = [int(name) for name in names if name.isdecimal()]  # another name is a user's own copy
        return [step for step in on_disk if step < min(self.position.snapshots, default=0)]

    def save(self) -> None:
        parts = {"model": self.model.state_dict(), "optimiser": self.optimiser.tensors()}
        tensors = {name: gather_tensors(part, self.writes) for name, part in parts.items()}
        if not self.writes:
            return
        with self.tolerate_write_errors("a checkpoint"):
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
    def tolerate_write_errors(self, what: str) -> Iterator[None]:
        """A full or failing disk costs what is written now, and nothing that was written before."""
        try:
            yield
        except OSError as error:
            before = (
                "the last checkpoint is intact"
                if self.saved
                else "there is no checkpoint yet: free some space"
            )
            self.watch.warn(
                f"step {self.position.step}: {what} could not be written ({error}); {before}. Training continues."
            )

    def note(self, facts: dict[str, Any], timing: dict[str, Any]) -> None:
        """Write a line to the log and one to the timing log."""
        if self.writes:
            step = {"step": self.position.step}
            for log, line in ((self.log, step | facts), (self.timing, step | timing)):
                with self.tolerate_write_errors(log.path.name):
                    log.add(line)
            self.watch.logged(step | facts | timing)


class SafeWatch:
    """A watch whose own errors, such as output to a full disk, do not stop the run."""

    def __init__(self, inner: Watch):
        self.inner = inner

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        with suppress(OSError):
            self.inner.step(position, progress, loss, tokens_per_second)

    def validated(self, position: Position, loss: float, improved: bool) -> None:
        """The watch may decode an example with a half-trained model, which may fail in any way."""
        try:
            self.inner.validated(position, loss, improved)
        except OSError:
            return
        except Exception as error:
            self.warn(
                f"step {position.step}: the example output could not be shown ({type(error).__name__}: {error}). "
                "Training continues."
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
        """Leave out time in which no steps are made."""
        began = clock.seconds()
        yield
        self.since += clock.seconds() - began

    def value(self) -> float:
        return self.total / max(1, self.tokens)

    def tokens_per_second(self, now: float) -> float:
        return self.tokens / max(1e-9, now - self.since)


def is_milestone(step: int) -> bool:
    """8, 16, 32, 64 …: a model changes most at the beginning."""
    return step >= 8 and step & (step - 1) == 0


class Clock:
    """Seconds of training, including those before an interruption."""

    def __init__(self, before: float):
        self.began = time.monotonic() - before

    def seconds(self) -> float:
        return time.monotonic() - self.began


def parts_that_fit(batch_tokens: int, group: Group, device: torch.device) -> int:
    """The same number for every process, if all have the same number of threads."""
    if device.type != "cpu":
        return 1
    return max(1, round(batch_tokens / group.size / (TOKENS_AT_ONCE * torch.get_num_threads())))


@torch.no_grad()
def validation_loss(model: nn.Module, loss: Callable[[Any], Tensor], data: Data, group: Group) -> float:
    """Mean loss per token in evaluation mode. Each process computes a share of the batches.

    One with a batch less than the others computes the first with weight 0, because they may synchronize in every batch.
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
    """The validation loss of a model that this process holds entirely."""
    return validation_loss(model, model.loss, data, Alone())  # type: ignore[arg-type]
