"""The training loop for every model. It needs `model.loss(batch)` and batches; it validates, logs and saves."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.checkpoint.files import make_folders
from qkv.checkpoint.state import State, save_state
from qkv.checkpoint.tensors import tensors_hash, write_tensors
from qkv.errors import QkvError
from qkv.training.batches import Data
from qkv.training.distributed import Group
from qkv.training.log import Log
from qkv.training.meters import Clock, Mean
from qkv.training.optimizer import Optimizer
from qkv.training.position import Plan, Position
from qkv.training.randomness import seed_for
from qkv.training.schedule import rate_at
from qkv.training.signals import StopRequest
from qkv.training.snapshots import Snapshots
from qkv.training.spread import Part, Spread, device_of, gather_tensors, load_weights
from qkv.training.validation import validation_loss
from qkv.training.watch import SafeWatch, Watch

READ_EVERY = 25  # steps between two reads of the losses if reading makes a device wait
TOKENS_AT_ONCE = 1_024  # per CPU thread: more are not faster and need more memory
BAD_BATCHES = 20  # that a run may skip because of a NaN or infinite loss or gradient


@dataclass(frozen=True)
class StepResult:
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
        self.optimizer = Optimizer(spread, plan.settings)
        self.parts = plan.settings.gradient_accumulation_steps or parts_that_fit(
            plan.settings.batch_tokens, group, self.device
        )
        self.rate = 0.0  # of the last step
        self.batches_of_epoch = 1
        self.position = Position()
        self.unread: list[StepResult] = []  # steps whose losses were not read yet
        self.mean = Mean()  # since the last line of the log
        self.log = Log(plan.folder / "log.jsonl")  # the same for the same seed
        self.timing = Log(plan.folder / "timing.jsonl")  # different in every run
        self.saved: int | None = None  # step of the last state on disk
        self.validated: int | None = None  # step of the last validation
        self.ended = False  # by a callback, before its limit
        self.snapshots = Snapshots(plan.folder / "snapshots")

    def resume(self, state: State) -> None:
        load_weights(self.model, state.tensors["model"])
        self.optimizer.restore(state.tensors["optimiser"])
        self.position = Position.from_facts(state.facts["position"])
        self.mean = Mean(**state.facts["mean"])
        self.group.wait()  # the processes may share the weights, and none may change them yet
        self.batches_of_epoch = len(self.train.epoch(self.order_of_epoch()))
        self.saved = state.step
        if self.writes:
            self.snapshots.find_outdated(self.position.snapshots)
            for log, name in ((self.log, "log"), (self.timing, "timing")):
                fault = log.cut_back(state.facts[name])
                if fault:
                    self.watch.warn(fault)

    def go(self, stop: StopRequest) -> bool:
        """Train, and save when something stops it. Return whether the run reached its end, which a callback may set."""
        if self.writes:
            self.plan.folder.mkdir(parents=True, exist_ok=True)
        position, settings = self.position, self.plan.settings
        clock = Clock(position.seconds)
        self.mean.since = clock.seconds()
        stopping = False
        while not (stopping or self.ended or self.plan.progress(position) >= 1.0 or self.out_of_patience()):
            with self.mean.pause(clock):
                batches = self.train.epoch(self.order_of_epoch())
            self.batches_of_epoch = len(batches)
            for rows in batches[position.cursor :]:
                stopping, self.ended = self.agree(stop, clock)
                if self.ended:
                    break
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
                    self.validate_and_save(clock)
                if over or stopping or self.out_of_patience():
                    break
            if position.cursor == len(batches):
                position.epoch, position.cursor = position.epoch + 1, 0
        self.read_losses(clock)
        position.seconds = clock.seconds()
        if self.ended and not stopping and self.validated != position.step:
            self.validate_and_save(clock)  # there must be a model to choose
        self.save()
        return not stopping

    def validate_and_save(self, clock: Clock) -> None:
        with self.mean.pause(clock):
            loss, improved = self.validate(clock)
            self.validated = self.position.step
            self.save()
            if self.writes:
                self.watch.on_validation(self.position, loss, improved)

    def order_of_epoch(self) -> int:
        return seed_for(self.plan.seed, "order", self.position.epoch)

    def agree(self, stop: StopRequest, clock: Clock) -> tuple[bool, bool]:
        """Must the run stop after this step, and does it end before it? All processes use the clock of the first."""
        stops, ends, self.position.seconds = self.group.agree(
            stop.interrupts, stop.ends, clock.seconds() if self.writes else 0.0
        )
        return stops > 0, ends > 0 and not stops

    def one_step(self, rows: list[int]) -> StepResult:
        """Forward, backward, clip, update. Nothing here waits for a device.

        A NaN or infinite loss or gradient never changes the weights.
        """
        position, settings = self.position, self.plan.settings
        progress = self.plan.progress(position)  # before this step, so that the last one has a rate above 0
        position.step, position.cursor = position.step + 1, position.cursor + 1
        torch.manual_seed(seed_for(self.plan.seed, f"dropout/{self.group.rank}", position.step))
        if not self.model.training:  # setting it visits every module
            self.model.train()
        loss = self.spread.backward(self.parts_of(rows))
        norm = self.spread.clip(settings.max_grad_norm)
        finite = loss.isfinite() & norm.isfinite()
        self.rate = rate_at(settings, position.step, progress)
        self.optimizer.step(self.rate, finite)
        tokens = self.train.tokens(rows)
        position.tokens += tokens
        return StepResult(position.step, loss, finite, tokens)

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

    def read_losses(self, clock: Clock) -> None:
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
            self.watch.on_step(position, self.plan.progress(position), self.mean.value(), speed, self.rate)

    def count_bad_batch(self, step: int) -> None:
        self.position.bad_batches += 1
        if self.writes:
            self.watch.warn(f"step {step}: non-finite loss or gradient; skipping this batch.")
        if self.position.bad_batches > BAD_BATCHES:
            raise QkvError(
                f"more than {BAD_BATCHES} batches gave a non-finite loss or gradient. "
                f"Try a learning rate below {self.plan.settings.learning_rate:g}."
            )

    def report(self, clock: Clock) -> None:
        """Write a line to the log."""
        position, mean, now = self.position, self.mean, clock.seconds()
        self.mean = Mean(since=now)
        facts = {"loss": round(mean.value(), 5), "learning_rate": self.rate, "tokens": position.tokens}
        timing = {
            "tokens_per_second": round(mean.tokens_per_second(now)),
            "seconds": round(position.seconds, 2),
        }
        self.note(facts, timing)

    def validate(self, clock: Clock) -> tuple[float, bool]:
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
            self.snapshots.write(position.step, weights)
            steps = [*position.snapshots, position.step]
            position.snapshots = self.snapshots.keep_newest(steps, self.plan.settings.average)
        self.note({"validation_loss": round(loss, 5)}, {"seconds": round(reached, 2)})
        return loss, improved

    def handle_bad_validation(self, loss: float) -> None:
        """Warn if an earlier model was kept. If none was, training cannot produce one."""
        step = self.position.step
        if self.position.best_loss == math.inf:
            raise QkvError(
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

    def average_snapshots(self) -> dict[str, Tensor]:
        """The mean of the last snapshots that are intact. Empty if there are none."""
        average, self.position.snapshots = self.snapshots.average(self.position.snapshots, self.watch.warn)
        return average

    def save(self) -> None:
        parts = {"model": self.model.state_dict(), "optimiser": self.optimizer.tensors()}  # names of files
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
            again, self.saved = self.saved == step, step
            self.snapshots.delete_outdated()
            if not again:
                self.watch.on_save(self.position)

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
            self.watch.on_log(step | facts | timing)


def is_milestone(step: int) -> bool:
    """8, 16, 32, 64 …: a model changes most at the beginning."""
    return step >= 8 and step & (step - 1) == 0


def parts_that_fit(batch_tokens: int, group: Group, device: torch.device) -> int:
    """The same number for every process, if all have the same number of threads."""
    if device.type != "cpu":
        return 1
    return max(1, round(batch_tokens / group.size / (TOKENS_AT_ONCE * torch.get_num_threads())))
