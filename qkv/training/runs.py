"""A training run of any kind of model: how it starts, resumes and ends, and which weights the bundle gets."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic

import torch
from torch import Tensor

from qkv.checkpoint.bundle import MODEL_FILE, REPORT_FILE
from qkv.checkpoint.files import read_json, seal, write_json
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.checkpoint.state import load_latest, set_aside_after
from qkv.checkpoint.tensors import read_tensors
from qkv.errors import QkvError
from qkv.training.arithmetic import arithmetic_changes, arithmetic_of, compiled_kernels
from qkv.training.claim import claim_output
from qkv.training.device import check_precision, choose_device
from qkv.training.distributed import Group, SingleProcess
from qkv.training.extension import current_settings, raised_limits, with_extension
from qkv.training.loop import Run
from qkv.training.position import Plan
from qkv.training.product import ProductType
from qkv.training.randomness import seed_for
from qkv.training.report import end_reason, parameter_count
from qkv.training.run_file import check_same_run, remove_on_error, run_identity, write_run_file
from qkv.training.selection import choose_weights, keep_average
from qkv.training.signals import StopRequest
from qkv.training.spread import check_spread, spread
from qkv.training.task import Task
from qkv.training.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[ProductType]):
    """How a run ended."""

    product: ProductType
    report: dict[str, Any] | None  # None if the run was interrupted
    exit_code: int
    saved: bool = True  # whether the last step is on disk
    step: int = 0  # the last one


def train(
    task: Task[ProductType],
    out: Path,
    *,
    watch: Callable[[ProductType], Watch],
    group: Group | None = None,
    resume: bool = False,
    remember: Mapping[str, Any] | None = None,
    stop: StopRequest | None = None,
    claimed: bool = False,
) -> Outcome[ProductType]:
    """Train, keep the best weights, and write the bundle with its report.

    A resumed run must have the settings it had, but may have a higher limit on steps or minutes. `remember` is kept in
    the run folder for a later resume. `stop` is what callbacks stop the run with.
    `claimed` says that the caller holds the output folder.
    """
    stop = StopRequest() if stop is None else stop
    settings = task.settings
    settings.check()
    group = SingleProcess() if group is None else group
    check_spread(group, settings.training)
    if not resume:
        check_precision(settings.training, choose_device(settings.training))
    folder = out / "training"
    with nullcontext() if claimed or group.rank > 0 else claim_output(out, resume=resume):
        starts = not resume and group.rank == 0
        if starts:
            write_run_file(folder, task, remember or {})
        group.wait()
        stored = check_same_run(folder, task.fingerprint(), settings)
        if not resume:
            group.wait()  # all have read the file that `remove_on_error` may remove
        with remove_on_error(folder) if starts else nullcontext():
            run, product = assemble(task, out, watch, group, run_identity(stored))
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
        if run.writes:
            run.watch.on_start(run.plan, run.position, parameter_count(product.model))
        with compiled_kernels(run.device), stop:
            complete = run.go(stop)
        if not complete or stop.interrupts:  # also in the last step: scoring may take long
            saved = run.saved == run.position.step
            if run.writes:
                run.watch.on_end(run.position, "interruption", None)
            return Outcome(
                product=product, report=None, exit_code=stop.exit_code, saved=saved, step=run.position.step
            )
        if group.rank > 0:
            return Outcome(product=product, report=None, exit_code=0)
        report = finished_report(run, product, out) if resume else None
        if report is None:
            run.watch.on_work("choosing weights and scoring", 0, 1)
            chosen = choose_weights(run, product, out)
            report = task.finish(product, run, chosen, out)
        run.watch.on_end(run.position, end_reason(run), report)
        return Outcome(product=product, report=report, exit_code=0, step=run.position.step)


def assemble(
    task: Task[ProductType],
    out: Path,
    watch: Callable[[ProductType], Watch],
    group: Group,
    started_with: Mapping[str, str],
) -> tuple[Run, ProductType]:
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
    spread_model = spread(model, choose_device(settings.training), group, settings.training)

    def keep(weights: dict[str, Tensor], better: bool) -> None:
        if spread_model.model is not model:
            model.load_state_dict(weights)
        if better:
            product.to_bundle(out)

    watching = task.wrap_watch(watch(product), product, out)
    return Run(spread_model, made.train, made.valid, plan, keep, watching, group), product


def restore(run: Run) -> None:
    """Load the newest intact state. A run that was stopped before its first one starts over."""
    state, warnings = load_latest(run.plan.folder, run.plan.started_with)
    for sentence in warnings:
        run.watch.warn(sentence)
    step = 0 if state is None else state.step
    if run.group.agree(step) != [step * run.group.size]:
        raise QkvError(
            "the processes see different states of the run. Use the same output folder on all machines."
        )
    if state is not None:
        if run.writes:
            set_aside_after(run.plan.folder, state.step)
        run.resume(state)
    elif run.writes:
        for log in (run.log, run.timing):
            log.path.unlink(missing_ok=True)


def finished_report(run: Run, product: ProductType, out: Path) -> dict[str, Any] | None:
    """The report, if it was written after the last step; the product then gets the weights of the bundle."""
    try:
        report = read_json(out / REPORT_FILE)
        if report["training"]["steps"] != run.position.step:
            return None
        product.model.load_state_dict(read_tensors(out / MODEL_FILE))
    except (QkvError, KeyError, TypeError, RuntimeError):  # missing, damaged, or of another model
        return None
    return dict(report)


def extend(run: Run, task: Task[ProductType], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Record the new limits in run.json, which all processes have read by now. Return its new content."""
    extended = with_extension(stored, asdict(task.settings), run.position.step, arithmetic_of(task))
    if run.writes:
        write_json(run.plan.folder / RUN_FILE, seal(extended))
    return extended


def is_complete(run: Run) -> bool:
    return run.plan.progress(run.position) >= 1.0 or run.out_of_patience()
