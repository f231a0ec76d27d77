"""A training run of any kind of model: what is made once, what is resumed, what is kept, and the bundle at its end."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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
    read_tensors,
    sealed,
    tensors_hash,
    write_file,
    write_json,
)
from qkv.checkpoint.state import LOCK_FILE, load_latest, only_one_run, set_aside_after, states_in
from qkv.configs import changed_paths, from_dict
from qkv.core.attention import compiled_loops
from qkv.errors import ProcessEndedError, UserError
from qkv.training.advice import is_still_falling, validation_losses
from qkv.training.card import model_card
from qkv.training.device import check_precision, choose_device, products_here
from qkv.training.distributed import Alone, Group
from qkv.training.loop import Data, Plan, Run, Watch, loss_on
from qkv.training.randomness import seed_for
from qkv.training.schedule import warmup_steps
from qkv.training.settings import RunSettings, TrainingSettings, TuningSettings
from qkv.training.signals import StopRequest
from qkv.training.spread import check_spread, spread

RUN_FILE = "run.json"  # in OUT/training
LONG_STEPS, LONG_MINUTES, NARROW = 500, 2, 256  # such a run is worth seconds of preparation


class Product(Protocol):
    """What a run makes: a model, and all that it needs to be used."""

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
    """Which weights the bundle holds, and their loss on the validation part."""

    sentence: str
    loss: float


class Counter:
    """Adds up what is done of some work, and reports it."""

    def __init__(self, working: Callable[[str, int, int], None], what: str, total: int):
        self.working, self.what, self.total, self.completed = working, what, total, 0
        working(what, 0, total)

    def __call__(self, count: int) -> None:
        # A long text counts once for each of its parts.
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
        """What is made once and kept in OUT/training, such as a learned vocabulary: names and content."""
        return {}

    @abstractmethod
    def assemble(self, folder: Path) -> Assembled[Made]:
        """Build the model and its data, from those files in `folder`. torch's seed is set for the first weights."""

    def finish(self, product: Made, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        """Measure the product, which has the chosen weights and is saved; return the report and write it to the bundle."""
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
        """A watch that also notes what this task measures while it trains."""
        return watch


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Made]):
    """How a run ended."""

    product: Made
    report: dict[str, Any] | None  # None where the run was interrupted
    exit_code: int
    saved: bool = True  # is what was reached on the disk?


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

    `remember` is kept in the run folder for a later resume.
    """
    settings = task.settings
    group = Alone() if group is None else group
    check_spread(group, settings.training)
    if not resume:
        check_precision(settings.training, choose_device())
    folder = out / "training"
    with claimed(out, resume=resume) if group.rank == 0 else nullcontext():
        starts = not resume and group.rank == 0
        if starts:
            begin_run(task, folder, remember or {})
        group.wait()
        stored = check_same_run(folder, task.fingerprint(), settings)
        if not resume:
            group.wait()  # all have read the file that `taken_back` may remove
        with taken_back(folder) if starts else nullcontext():
            run, product = assemble(task, out, watch, group, started_with(stored))
        if resume:
            go_on(run)
            for sentence in other_digits(stored, arithmetic_of(task)):
                run.watch.warn(sentence)
        with loops_that_pay(task, run.device), StopRequest() as stop:
            complete = run.go(stop)
        if not complete or stop.asked is not None:  # also in its last step, for the scoring may take long
            saved = run.saved == run.position.step
            return Outcome(product=product, report=None, exit_code=stop.exit_code, saved=saved)
        if group.rank > 0:
            return Outcome(product=product, report=None, exit_code=0)
        run.watch.working("choosing weights and scoring", 0, 1)
        chosen = keep_the_better(run, product, out)
        report = task.finish(product, run, chosen, out)
        return Outcome(product=product, report=report, exit_code=0)


CLAIMED: set[Path] = set()  # folders that this process holds


@contextmanager
def claimed(out: Path, *, resume: bool) -> Iterator[None]:
    """Hold OUT for one run. This is the only place that checks that nothing is overwritten.

    A command claims its folder before it reads the data; `train` finds it claimed then.
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
                refuse_to_overwrite(out)
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
def taken_back(folder: Path) -> Iterator[None]:
    """Data that are refused leave no run behind, which could only be resumed to be refused again."""
    try:
        yield
    except ProcessEndedError:  # nothing is wrong with the data
        raise
    except UserError:
        (folder / RUN_FILE).unlink(missing_ok=True)
        raise


def with_epochs(settings: Tuning, data: Callable[[], Data]) -> Tuning:
    """The settings with as many steps as their epochs need, where neither steps nor minutes were asked for."""
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


def refuse_to_overwrite(out: Path) -> None:
    if (out / "training" / RUN_FILE).exists():
        raise UserError(f"{out} already holds a training run. Resume it, or choose another output folder.")
    if states_in(out / "training"):
        raise UserError(
            f"{out / 'training'} holds checkpoints but no {RUN_FILE}. Restore that file, or choose another output folder."
        )
    if any(path.name != "training" for path in out.iterdir()):
        raise UserError(f"{out} is not empty. Choose another output folder.")


def begin_run(task: Task[Made], folder: Path, remember: Mapping[str, Any]) -> None:
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
    # Last: where it is, the run can be resumed.
    write_json(folder / RUN_FILE, sealed(facts))


def check_same_run(folder: Path, data: Mapping[str, str], settings: RunSettings) -> dict[str, Any]:
    """What a process trains on is what the run folder says, which another process, or another day, may have written.

    What the run folder says is given back.
    """
    if not (folder / RUN_FILE).exists():
        raise UserError(
            f"{folder / RUN_FILE} is missing: restore it; or, where several machines train, let --out be the same folder on all of them."
        )
    stored = read_sealed(folder / RUN_FILE)
    if "made" not in stored:
        raise UserError(f"{folder.parent} was begun by an earlier version of qkv: finish it with that one.")
    other = [name for name, value in stored["data"].items() if data.get(name) != value]
    if other:
        raise UserError(
            f"other than when the run was begun: the {' and the '.join(other)}; resume with the same files, which are "
            "the same on every machine."
        )
    before = comparable(asdict(from_dict(type(settings), stored["settings"], str(folder / RUN_FILE))))
    changed = changed_paths(before, comparable(asdict(settings)))
    if changed:
        names = ", ".join(path[-1] for path in changed)
        raise UserError(
            f"the settings differ from those of the run in {folder.parent}: {names}. All processes and every resume must "
            "use the same."
        )
    for name, before in stored["made"].items():
        if file_hash(folder / name) != before:
            raise UserError(f"{folder / name} is damaged; restore it from a copy or train again.")
    return stored


def started_with(stored: Mapping[str, Any]) -> dict[str, str]:
    """Hashes for the states of a run: as it was begun, for a later qkv may know settings that it does not name."""
    return {"settings": bytes_hash(canonical(comparable(stored["settings"]))), **stored["data"]}


def comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them, but for the number of processes, which may change."""
    training = {name: value for name, value in settings["training"].items() if name != "processes"}
    found: dict[str, Any] = json.loads(canonical({**settings, "training": training}))
    return found


def go_on(run: Run) -> None:
    """Take up the newest whole state; a run that was ended before its first one starts anew."""
    state, warnings = load_latest(run.plan.folder, run.plan.started_with)
    for sentence in warnings:
        run.watch.warn(sentence)
    step = 0 if state is None else state.step
    if run.group.agree(step) != [step * run.group.size]:
        raise UserError(
            "the processes see different states of the run: is --out the same folder on all machines?"
        )
    if state is not None:
        if run.writes:
            set_aside_after(run.plan.folder, state.step)
        run.resume(state)
        if run.plan.progress(run.position) >= 1.0:
            run.watch.warn("this run had ended already: there is nothing left to train.")
    elif run.writes:
        for log in (run.log, run.timing):
            log.path.unlink(missing_ok=True)


def keep_the_better(run: Run, product: Product, out: Path) -> Chosen:
    """The best model so far, or the average of the last snapshots where that is better; it becomes the bundle.

    Where the last weights shall be kept, they are what there is so far, and no average is asked.
    """
    position, model, keep = run.position, product.model, run.plan.settings.keep
    averaged = run.averaged()
    best = best_so_far(run, out, averaged)
    which = (
        f"snapshot at step {position.kept_step}"
        if keep == "best"
        else f"last weights, of step {position.kept_step}"
    )
    chosen = Chosen(which, position.kept_loss if best else math.inf)
    if averaged and (not best or (keep == "best" and len(position.snapshots) > 1)):
        model.load_state_dict(averaged)
        with run.spread.arithmetic():  # as those were that it is compared with
            loss = loss_on(model, run.valid)
        if loss < chosen.loss:
            best = averaged
            steps = ", ".join(map(str, position.snapshots))
            chosen = Chosen(f"average of the snapshots at steps {steps}", loss)
    if not best:
        raise UserError(
            f"neither {out / MODEL_FILE} nor a snapshot can be read, so that there is no model: where nothing could be "
            "saved, make room and run it again with --resume; where files were lost, restore one from a copy."
        )
    model.load_state_dict(best)
    product.save(out)
    return chosen


def best_so_far(run: Run, out: Path, averaged: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The best snapshot, if it is still in the bundle; nothing where it is not.

    Where a run was killed while it was scored, the average of the snapshots may have taken its place already.
    """
    try:
        weights = read_tensors(out / MODEL_FILE)
    except UserError as error:
        run.watch.warn(f"{error} The average of the last snapshots takes its place.")
        return {}
    found = tensors_hash(weights)
    if found == run.position.kept_hash:
        return weights
    if found != tensors_hash(averaged):
        run.watch.warn(
            f"{out / MODEL_FILE} is not what this run has put there: the last snapshots take its place."
        )
    return {}


def loops_that_pay(task: Task[Made], device: torch.device) -> AbstractContextManager[object]:
    """Loops of our own for attention are made for one thread, and compiling them takes as long as many short steps.

    In a wide model attention itself is a small part of the work.
    """
    return compiled_loops() if loops_pay(task, device) else nullcontext()


def loops_pay(task: Task[Made], device: torch.device) -> bool:
    settings = task.settings
    long = (settings.steps or math.inf) >= LONG_STEPS and (settings.minutes or math.inf) >= LONG_MINUTES
    fits = device.type == "cpu" and torch.get_num_threads() == 1 and task.width <= NARROW
    return long and fits


def arithmetic_of(task: Task[Made]) -> dict[str, str]:
    """What decides, beside the settings, how numbers are rounded here."""
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
    """Its version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def other_digits(stored: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """A sentence where this machine does not compute as the one did on which the run was begun."""
    before = stored.get("arithmetic", now)
    changed = [
        f"{name} {before[name]}, now {value}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]
    if not changed:
        return []
    return [
        f"this run was begun with {' and '.join(changed)}: it goes on, but its numbers may be others from here on than those "
        "of a run that was never interrupted."
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
    """What every report says, of whatever kind the model is; `counted` are what its data count in a batch."""
    position = run.position
    planned = position.step / max(1e-9, run.plan.progress(position))  # also where minutes end the run
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
