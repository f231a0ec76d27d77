"""A training job of any family: read the data, apply the recipe, start helper processes, train."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qkv.api.resuming import data_of_run
from qkv.configs import from_dict
from qkv.environment import is_helper, under_torchrun
from qkv.errors import ModelError, QkvError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.flags import OptionMessageError
from qkv.signatures import options_of, replace_at
from qkv.training.command import Command, Given, command_type, with_training
from qkv.training.settings import SettingsTable, find_recipe, parse_recipe
from qkv.training.trainable import Setup, Trainable

if TYPE_CHECKING:
    from qkv.prepared.place import Place
    from qkv.progress.displays import RunDisplay
    from qkv.training.callbacks import Callback
    from qkv.training.distributed import Group
    from qkv.training.runs import Outcome
    from qkv.training.signals import StopRequest
    from qkv.training.task import Task
    from qkv.training.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is trained, and how."""

    trainable: Trainable
    command: Command
    given: Given = frozenset()

    def facts(self) -> dict[str, Any]:
        """As JSON, for helper processes."""
        command = self.command
        return {
            "kind": self.trainable.name,
            "needs": sorted(self.trainable.needs),
            "inputs": command.inputs.to_stored(),
            "output": str(command.output.absolute()),
            "recipe": command.recipe,
            "resume": command.resume,
            "data_cache": None if command.data_cache is None else str(command.data_cache.absolute()),
            "settings": asdict(command.settings),
            "given": sorted(map(list, self.given)),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Job:
        siblings: Sequence[Trainable] = resolve(trainings()[facts["kind"]].trainables)
        trainable = next(each for each in siblings if sorted(each.needs) == facts["needs"])
        command: Command = command_type(trainable)(
            inputs=trainable.inputs.from_stored(facts["inputs"]),
            output=Path(facts["output"]),
            recipe=facts["recipe"],
            resume=facts["resume"],
            data_cache=None if facts["data_cache"] is None else Path(facts["data_cache"]),
            settings=from_dict(trainable.settings, facts["settings"], "the job"),
        )
        return cls(
            trainable=trainable, command=command, given=frozenset(tuple(path) for path in facts["given"])
        )


@dataclass(frozen=True, kw_only=True)
class Show:
    """What the user sees of a run, and what acts on it."""

    progress: bool = True
    """A bar in a terminal, a live line in a notebook, otherwise lines."""
    callbacks: Sequence[Callback] = ()

    def say(self, line: str) -> None:
        if self.progress:
            from qkv.progress.terminal import say

            say(line)


def execute(job: Job, show: Show, stop: StopRequest | None = None, *, claimed: bool = False) -> Outcome[Any]:
    """Train in this process and in helpers. Under torchrun, every process calls this.

    `claimed` says that the caller holds the output folder.
    """
    # Must be set before torch is imported: large tensors then use huge pages, which is faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from qkv.training.claim import claim_output
    from qkv.training.distributed import HelperJob, shared_run

    command = job.command
    if command.tensorboard:
        from qkv.training.tensorboard import summary_writer

        summary_writer()  # fails now, not after the run has started, if it is not installed
    held = claimed or is_helper()
    with nullcontext() if held else claim_output(command.output, resume=command.resume):
        check_base(job)
        with place_of(job, show) as place:
            data = command.inputs.read_large(command.settings, place)
            job = replace(job, command=with_final_settings(job, data.amount))
            helping = HelperJob("qkv.api.jobs:help_training", job.facts())
            with shared_run(helping, job.command.settings.training.processes) as group:
                return train(job, data, group, show, stop)


def place_of(job: Job, show: Show) -> AbstractContextManager[Place]:
    """Where the data are prepared. A helper finds them there."""
    from qkv.prepared.place import place_for_run

    command = job.command
    return place_for_run(command.output, command.data_cache, verify=not is_helper(), say=show.say)


def check_base(job: Job) -> None:
    """Is the model to fine-tune of this family? Its weights are read later, with the data."""
    from qkv.families.loading import kind_of, wrong_kind

    base, use = getattr(job.command.inputs, "fine_tune", None), f"train {job.trainable.name} --fine-tune"
    if base is not None:
        kind = kind_of(base)
        if use not in kind.commands:
            raise ModelError(wrong_kind(base, kind, use))


def help_training(facts: Mapping[str, Any]) -> int:
    """What a helper process does: its share of the job."""
    from qkv.training.distributed import HelperJob, shared_run

    job, show = Job.from_facts(facts), Show(progress=False)
    with place_of(job, show) as place:
        data = job.command.inputs.read_large(job.command.settings, place)
        with shared_run(HelperJob("", {}), 1) as group:
            return train(job, data, group, show, None).exit_code


def with_final_settings(job: Job, amount: int) -> Command:
    """The command with the settings of its recipe for this amount of data, and with its number of processes."""
    command = job.command
    again = command.inputs.can_be_read_again()
    if not again and under_torchrun():
        raise QkvError("under torchrun every process reads the data: give files or a folder, not a pipe.")
    if command.resume:
        training = command.settings.training
        return command if again else with_training(command, replace(training, processes=1))
    return apply_recipe(job, amount, again=again)


def apply_recipe(job: Job, amount: int, *, again: bool) -> Command:
    """Apply the recipe for this amount of data, then the options that the user gave."""
    from qkv.training.distributed import processes_for

    trainable, command, given = job.trainable, job.command, job.given
    recipe = find_recipe(command.recipe, trainable.recipes(command))
    own = {each.path for each in options_of(command.settings)}
    chosen = {path: value_at(command.settings, path) for path in given & own}
    settings: Any = replace_at(recipe(amount), chosen)
    if ("minutes",) in given and ("steps",) not in given:
        settings = replace(settings, steps=None)
    settings.check()
    training = settings.training
    exact = isinstance(parse_recipe(command.recipe), SettingsTable)
    if settings.steps is not None and not exact and ("training", "validate_every") not in given:
        training = replace(training, validate_every=max(1, min(training.validate_every, settings.steps // 4)))
    if under_torchrun() and ("training", "processes") in given:
        raise OptionMessageError("torchrun sets the number of processes: leave out {processes}.")
    processes = processes_for(training.processes, training.batch_tokens) if again else 1
    return with_training(replace(command, settings=settings), replace(training, processes=processes))


def value_at(settings: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        settings = getattr(settings, name)
    return settings


def train(job: Job, data: Any, group: Group, show: Show, stop: StopRequest | None) -> Outcome[Any]:
    from qkv.progress.displays import open_display
    from qkv.training.runs import train as train_task
    from qkv.training.signals import StopRequest

    stop = StopRequest() if stop is None else stop
    trainable, command = job.trainable, job.command
    setup = Setup(
        group=group,
        given=frozenset(path[-1] for path in job.given if path),
        say=show.say,
        data_before=data_of_run(command.output) if command.resume else {},
    )
    make_task: Callable[..., Task[Any]] = resolve(trainable.task)
    task = make_task(data, command.inputs, command.settings, setup)
    with open_display(task.example(), task.unit, progress=show.progress) as display:
        return train_task(
            task,
            command.output,
            watch=partial(make_watch, command, display, show.callbacks, stop),
            group=group,
            resume=command.resume,
            remember={
                "kind": trainable.name,
                "files": command.inputs.to_stored(),
                "recipe": command.recipe,
                "tensorboard": command.tensorboard,
                "data_cache": None if command.data_cache is None else str(command.data_cache.absolute()),
            },
            stop=stop,
            claimed=True,  # by `execute`
        )


def make_watch(
    command: Command, display: RunDisplay, callbacks: Sequence[Callback], stop: StopRequest, product: Any
) -> Watch:
    from qkv.training.callbacks import CallbackWatch

    watch = display.watch(product)
    if command.tensorboard:
        from qkv.training.tensorboard import FOLDER, Scalars

        watch = Scalars(watch, command.output / "training" / FOLDER)
    return CallbackWatch(watch, callbacks, stop, command.output) if callbacks else watch
