"""A training run of any kind of model: how it starts, resumes and ends, and which weights the bundle gets."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from qkv import __version__
from qkv.checkpoint.bundle import MODEL_FILE, save_report
from qkv.checkpoint.files import (
    bytes_hash,
    canonical,
    file_hash,
    make_folders,
    read_sealed,
    sealed,
    write_file,
    write_json,
)
from qkv.checkpoint.state import LOCK_FILE, load_latest, only_one_run, set_aside_after, states_in
from qkv.checkpoint.tensors import read_tensors, tensors_hash
from qkv.configs import changed_paths, from_dict
from qkv.core.attention import compiled_loops
from qkv.errors import ProcessEndedError, UserError
from qkv.training.advice import is_still_falling, validation_losses
from qkv.training.card import model_card
from qkv.training.device import check_precision, choose_device, products_here
from qkv.training.distributed import Alone, Group
from qkv.training.extension import EXTENSIONS, current_settings, raised_limits, with_extension
from qkv.training.loop import Data, Plan, Run, Watch, loss_on
from qkv.training.randomness import seed_for
from qkv.training.schedule import warmup_steps
from qkv.training.settings import RunSettings, TrainingSettings, TuningSettings
from qkv.training.signals import StopRequest
from qkv.training.spread import check_spread, spread

RUN_FILE = "run.json"  # in OUT/training
LONG_STEPS, LONG_MINUTES, NARROW = 500, 2, 256  # compiling loops takes seconds, which such a run earns back


class Product(Protocol):
    """What a run makes: a model with everything that is needed to use it."""

    @property
    def model(self) -> nn.Module: ...  # with `loss(batch)`

    def save(self, folder: Path) -> None: ...  # as a bundle


Made = TypeVar("Made", bound=Product)
Tuning = TypeVar("Tuning", bound=TuningSettings)


@dataclass(frozen=True, kw_only=True)
class Assembled(Generic[Made]):
    """The model with its first weights, and what it is trained and validated on."""

    product: Made
    train: Data
    valid: Data


@dataclass(frozen=True)
class Chosen:
    """Which weights the bundle holds, and their validation loss."""

    sentence: str
    loss: float


class Counter:
    """Counts finished work and reports it."""

    def __init__(self, working: Callable[[str, int, int], None], what: str, total: int):
        self.working, self.what, self.total, self.completed = working, what, total, 0
        working(what, 0, total)

    def __call__(self, count: int) -> None:
        # A long text is counted once for each of its segments.
        self.completed = min(self.total, self.completed + count)
        self.working(self.what, self.completed, self.total)


@dataclass(frozen=True)
class Example(Generic[Made]):
    """An output to show at every validation."""

    title: str
    make: Callable[[Made], str]


class Task(ABC, Generic[Made]):
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
    def assemble(self, folder: Path) -> Assembled[Made]:
        """Build the model and its data from those files in `folder`. torch is seeded for the initial weights."""

    def finish(self, product: Made, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        """Evaluate the product, which has the chosen weights and is saved. Write the report to the bundle and return it."""
        report = {
            **facts_of_run(run, product.model, chosen, self.settings, counted=self.unit),
            "data": {"origin": ", ".join(self.fingerprint())},
            "results": {"validation loss": f"{chosen.loss:.4f}"},
        }
        save_report(out, report, model_card(type(product).__name__, f"qkv info {out.name}", report))
        return report

    def example(self) -> Example[Made] | None:
        return None

    def watched(self, watch: Watch, product: Made, out: Path) -> Watch:
        """A watch that also records what this task measures during training."""
        return watch


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Made]):
    """How a run ended."""

    product: Made
    report: dict[str, Any] | None  # None if the run was interrupted
    exit_code: int
    saved: bool = True  # whether the last step is on disk


def train(
    task: Task[Made],
    out: Path,
    *,
    watch: Callable[[Made], Watch],
    group: Group | None = None,
    resume: bool = False,
    remember: Mapping[str, Any] | None = None,
) -> Outcome[Made]:
    """Train, keep the best weights, and write the bundle with its report.

    A resumed run must have the settings it had, but may have a higher limit on steps or minutes. `remember` is kept in
    the run folder for a later resume.
    """
    settings = task.settings
    settings.check()
    group = Alone() if group is None else group
    check_spread(group, settings.training)
    if not resume:
        check_precision(settings.training, choose_device())
    folder = out / "training"
    with claimed(out, resume=resume) if group.rank == 0 else nullcontext():
        starts = not resume and group.rank == 0
        if starts:
            start_run(task, folder, remember or {})
        group.wait()
        stored = check_same_run(folder, task.fingerprint(), settings)
        if not resume:
            group.wait()  # all have read the file that `removed_on_error` may remove
        with removed_on_error(folder) if starts else nullcontext():
            run, product = assemble(task, out, watch, group, started_with(stored))
        if resume:
            restore(run)
            if raised_limits(current_settings(stored), asdict(settings)):
                stored = extend(run, task, stored)
            if is_complete(run):
                run.watch.warn("this run is already complete.")
            elif run.writes:
                keep_average(run, product, out)
            for sentence in arithmetic_changes(stored, arithmetic_of(task)):
                run.watch.warn(sentence)
        with attention_loops(task, run.device), StopRequest() as stop:
            complete = run.go(stop)
        if not complete or stop.asked is not None:  # also in the last step: scoring may take long
            saved = run.saved == run.position.step
            return Outcome(product=product, report=None, exit_code=stop.exit_code, saved=saved)
        if group.rank > 0:
            return Outcome(product=product, report=None, exit_code=0)
        run.watch.working("choosing weights and scoring", 0, 1)
        chosen = choose_weights(run, product, out)
        report = task.finish(product, run, chosen, out)
        return Outcome(product=product, report=report, exit_code=0)


CLAIMED: set[Path] = set()  # run folders that this process has locked


@contextmanager
def claimed(out: Path, *, resume: bool) -> Iterator[None]:
    """Hold OUT for one run. This is the only place that checks that nothing is overwritten.

    A command claims its folder before it reads the data, so `train` may find it claimed.
    """
    folder = out / "training"
    if folder.resolve() in CLAIMED:
        yield
        return
    if out.is_file():
        raise UserError(f"{out} is a file. Choose another output folder.")
    created = [path for path in (out, folder) if not path.exists()]
    make_folders(folder)
    try:
        with only_one_run(folder):
            if not resume:
                check_not_overwriting(out)
            CLAIMED.add(folder.resolve())
            yield
    finally:
        CLAIMED.discard(folder.resolve())
        if not (folder / RUN_FILE).exists():
            remove_empty(created)


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that were created for a run which never started."""
    for folder in reversed(folders):
        (folder / LOCK_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def removed_on_error(folder: Path) -> Iterator[None]:
    """Remove the run file if the data turn out to be unusable: resuming would fail in the same way."""
    try:
        yield
    except ProcessEndedError:  # the data are not the cause
        raise
    except UserError:
        (folder / RUN_FILE).unlink(missing_ok=True)
        raise


def with_epochs(settings: Tuning, data: Callable[[], Data]) -> Tuning:
    """The settings with the number of steps for their epochs, unless steps or minutes are given."""
    if settings.steps is not None or settings.minutes is not None:
        return settings
    steps = max(1, round(settings.epochs * len(data().epoch(0))))
    often = max(1, min(settings.training.validate_every, steps // 3))
    return replace(settings, steps=steps, training=replace(settings.training, validate_every=often))


def assemble(
    task: Task[Made],
    out: Path,
    watch: Callable[[Made], Watch],
    group: Group,
    started_with: Mapping[str, str],
) -> tuple[Run, Made]:
    folder, settings = out / "training", task.settings
    torch.manual_seed(seed_for(settings.seed, "weights", 0))
    made = task.assemble(folder)
    product, model = made.product, made.product.model
    plan = Plan(
        settings=settings.training,
        seed=settings.seed,
        steps=settings.steps,
        minutes=settings.minutes,
        folder=folder,
        started_with=started_with,
    )
    spread_model = spread(model, choose_device(), group, settings.training)

    def keep(weights: dict[str, Tensor], better: bool) -> None:
        if spread_model.model is not model:
            model.load_state_dict(weights)
        if better:
            product.save(out)

    watching = task.watched(watch(product), product, out)
    return Run(spread_model, made.train, made.valid, plan, keep, watching, group), product


def check_not_overwriting(out: Path) -> None:
    if (out / "training" / RUN_FILE).exists():
        raise UserError(f"{out} already holds a training run. Resume it, or choose another output folder.")
    if states_in(out / "training"):
        raise UserError(
            f"{out / 'training'} holds checkpoints but no {RUN_FILE}. Restore that file, or choose another output folder."
        )
    if any(path.name != "training" for path in out.iterdir()):
        raise UserError(f"{out} is not empty. Choose another output folder.")


def start_run(task: Task[Made], folder: Path, remember: Mapping[str, Any]) -> None:
    files = task.files()
    for name, content in files.items():
        write_file(folder / name, content)
    facts = {
        "settings": asdict(task.settings),
        "data": task.fingerprint(),
        "made": {name: file_hash(folder / name) for name in files},
        "arithmetic": arithmetic_of(task),
        **remember,
    }
    # Last: a run with this file can be resumed.
    write_json(folder / RUN_FILE, sealed(facts))


def check_same_run(folder: Path, data: Mapping[str, str], settings: RunSettings) -> dict[str, Any]:
    """Compare data and settings with run.json, which another process or an earlier session wrote. Return its content."""
    if not (folder / RUN_FILE).exists():
        raise UserError(
            f"{folder / RUN_FILE} is missing. Restore it. If several machines train, use the same output folder on all."
        )
    stored = read_sealed(folder / RUN_FILE)
    if "made" not in stored:
        raise UserError(
            f"{folder.parent} was started by an earlier version of qkv. Resume it with that version."
        )
    other = [name for name, value in stored["data"].items() if data.get(name) != value]
    if other:
        raise UserError(
            f"the data changed since the run was started: the {' and the '.join(other)}. Resume with the same files, on "
            "every machine."
        )
    before = comparable(asdict(from_dict(type(settings), current_settings(stored), str(folder / RUN_FILE))))
    now = comparable(asdict(settings))
    raised = {(name,) for name in raised_limits(before, now)}
    changed = [path for path in changed_paths(before, now) if path not in raised]
    if changed:
        names = ", ".join(path[-1] for path in changed)
        raise UserError(
            f"the settings differ from those of the run in {folder.parent}: {names}. All processes and every resume must "
            "use the same; only a higher limit on steps or minutes is possible."
        )
    for name, wanted in stored["made"].items():
        if file_hash(folder / name) != wanted:
            raise UserError(f"{folder / name} is damaged. Restore it from a copy or train again.")
    return stored


def started_with(stored: Mapping[str, Any]) -> dict[str, str]:
    """Hashes that identify the states of a run. They are those of its start: neither an extension nor new settings of a
    later version change them."""
    return {"settings": bytes_hash(canonical(comparable(stored["settings"]))), **stored["data"]}


def comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as in JSON, without the number of processes, which may change."""
    training = {name: value for name, value in settings["training"].items() if name != "processes"}
    found: dict[str, Any] = json.loads(canonical({**settings, "training": training}))
    return found


def restore(run: Run) -> None:
    """Load the newest intact state. A run that was stopped before its first one starts over."""
    state, warnings = load_latest(run.plan.folder, run.plan.started_with)
    for sentence in warnings:
        run.watch.warn(sentence)
    step = 0 if state is None else state.step
    if run.group.agree(step) != [step * run.group.size]:
        raise UserError(
            "the processes see different states of the run. Use the same output folder on all machines."
        )
    if state is not None:
        if run.writes:
            set_aside_after(run.plan.folder, state.step)
        run.resume(state)
    elif run.writes:
        for log in (run.log, run.timing):
            log.path.unlink(missing_ok=True)


def is_complete(run: Run) -> bool:
    return run.plan.progress(run.position) >= 1.0 or run.out_of_patience()


def extend(run: Run, task: Task[Made], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Record the new limits in run.json, which all processes have read by now. Return its new content."""
    extended = with_extension(stored, asdict(task.settings), run.position.step, arithmetic_of(task))
    if run.writes:
        write_json(run.plan.folder / RUN_FILE, sealed(extended))
    return extended


def keep_average(run: Run, product: Product, out: Path) -> None:
    """In an extended run, the average that the bundle holds since the earlier end is the model to beat."""
    position, held = run.position, bundle_hash(out)
    if held in (None, position.kept_hash):
        return
    averaged = run.averaged()
    if held == tensors_hash(averaged):
        model = deepcopy(product.model)
        model.load_state_dict(averaged)
        with run.spread.arithmetic():
            position.kept_loss = loss_on(model, run.valid)
        position.kept_hash, position.kept_as = held, name_of_average(position.snapshots)


def bundle_hash(out: Path) -> str | None:
    try:
        return tensors_hash(read_tensors(out / MODEL_FILE))
    except UserError:
        return None


def name_of_average(steps: Sequence[int]) -> str:
    return f"average of the snapshots at steps {', '.join(map(str, steps))}"


def choose_weights(run: Run, product: Product, out: Path) -> Chosen:
    """Save the best model so far, or the average of the last snapshots if that is better.

    If the last weights are to be kept, the average is used only if they cannot be read.
    """
    position, model, keep = run.position, product.model, run.plan.settings.keep
    averaged = run.averaged()
    best = best_so_far(run, out, averaged)
    which = (
        position.kept_as or f"snapshot at step {position.kept_step}"
        if keep == "best"
        else f"last weights, of step {position.kept_step}"
    )
    chosen = Chosen(which, position.kept_loss if best else math.inf)
    if averaged and (not best or (keep == "best" and len(position.snapshots) > 1)):
        model.load_state_dict(averaged)
        with run.spread.arithmetic():  # as for the losses that it is compared with
            loss = loss_on(model, run.valid)
        if loss < chosen.loss:
            best = averaged
            chosen = Chosen(name_of_average(position.snapshots), loss)
    if not best:
        raise UserError(
            f"neither {out / MODEL_FILE} nor a snapshot can be read, so there is no model. If the disk is full, free some "
            "space and resume the run. If files were lost, restore one from a copy."
        )
    model.load_state_dict(best)
    product.save(out)
    return chosen


def best_so_far(run: Run, out: Path, averaged: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the best snapshot, if they are still in the bundle, or nothing.

    If a run was killed during scoring, the average of the snapshots may have replaced them.
    """
    try:
        weights = read_tensors(out / MODEL_FILE)
    except UserError as error:
        run.watch.warn(f"{error} The average of the last snapshots replaces it.")
        return {}
    found = tensors_hash(weights)
    if found == run.position.kept_hash:
        return weights
    if found != tensors_hash(averaged):
        run.watch.warn(
            f"{out / MODEL_FILE} was not written by this run; the average of the last snapshots replaces it."
        )
    return {}


def attention_loops(task: Task[Made], device: torch.device) -> AbstractContextManager[object]:
    """Compiled loops for attention, if they are faster: they use one thread, and compiling takes as long as many steps.

    In a wide model attention is a small part of the work.
    """
    return compiled_loops() if loops_pay(task, device) else nullcontext()


def loops_pay(task: Task[Made], device: torch.device) -> bool:
    settings = task.settings
    long = (settings.steps or math.inf) >= LONG_STEPS and (settings.minutes or math.inf) >= LONG_MINUTES
    fits = device.type == "cpu" and torch.get_num_threads() == 1 and task.width <= NARROW
    return long and fits


def arithmetic_of(task: Task[Made]) -> dict[str, str]:
    """What affects rounding on this machine, besides the settings."""
    device = choose_device()
    loops = f"loops of Numba {installed('numba')}" if loops_pay(task, device) and installed("numba") else ""
    return {
        "torch": torch.__version__,
        "products": products_of(task.settings.training, device),
        "attention": loops or "torch's own",
        "device": device.type,
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
    }


def products_of(settings: TrainingSettings, device: torch.device) -> str:
    here = settings.precision != "int16" or products_here(settings, device) is not None
    return settings.precision if here else "float32"


def installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def arithmetic_changes(stored: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """A warning if this machine rounds differently from the one that started or extended the run."""
    before = (stored.get(EXTENSIONS) or [stored])[-1].get("arithmetic", now)
    changed = [
        f"{name} {before[name]}, now {value}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]
    if not changed:
        return []
    return [
        f"this run was started with {' and '.join(changed)}. From here on its numbers may differ from those of an "
        "uninterrupted run."
    ]


def ended_by(run: Run) -> str:
    """Which limit ended a run."""
    plan, position = run.plan, run.position
    if plan.steps is not None and position.step >= plan.steps:
        return "steps"
    return "minutes" if plan.progress(position) >= 1.0 else "patience"


def facts_of_run(
    run: Run, model: nn.Module, chosen: Chosen, settings: RunSettings, *, counted: str = "tokens"
) -> dict[str, Any]:
    """What every report contains. `counted` is the unit of the speed."""
    position = run.position
    planned = position.step / max(1e-9, run.plan.progress(position))  # also if minutes end the run
    used = replace(settings.training, warmup_steps=warmup_steps(settings.training, planned))
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training": {
            "steps": position.step,
            "epochs": round(position.epoch + position.cursor / run.batches_of_epoch, 2),
            "minutes": round(position.seconds / 60, 2),
            f"{counted}_per_second": round(position.tokens / max(1e-9, position.seconds)),
            "seed": settings.seed,
            "ended_by": ended_by(run),
            "still_falling": is_still_falling(validation_losses(run.log.path)),  # the validation loss
            "weights": chosen.sentence,
        },
        "settings": asdict(replace(settings, training=used)),
        "made_with": {
            "qkv": __version__,
            "torch": torch.__version__,
            "processes": run.group.size,
            "threads": torch.get_num_threads(),
        },
    }
