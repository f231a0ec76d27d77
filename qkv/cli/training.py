"""`qkv train`: options, recipes, resuming and processes, for every family."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import tyro

from qkv.cli import program
from qkv.cli.fields import (
    OptionField,
    fields_given,
    names_in,
    option_fields,
    value_at,
    with_values,
)
from qkv.cli.help import HELP_ALL, wants_help
from qkv.cli.options import read_options
from qkv.configs import changed_paths, from_dict
from qkv.environment import is_helper, under_torchrun
from qkv.errors import UserError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.training.extension import current_settings, raised_limits
from qkv.training.settings import RunSettings, TrainingSettings, TuningSettings, find_recipe
from qkv.training.trainable import Inputs, Setup, Trainable

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.training.loop import Watch
    from qkv.training.runs import Outcome, Task

GivenInputs = TypeVar("GivenInputs", bound=Inputs)
Settings = TypeVar("Settings", bound=RunSettings)
OUTPUT = ("--output", "--out", "-o")
TEXTS_OF_FORM = {
    "entailment": 2,
    "similarity": 2,
    "choice": 3,
}  # that `qkv classify` needs for one prediction
COMMON = {
    "output", "recipe", "resume", "steps", "minutes", "epochs", "seed", "architecture", "width", "depth", "encoder-depth",
    "decoder-depth", "heads", "dropout", "max-length", "vocab-size", "batch-tokens", "learning-rate", "patience",
    "precision", "language-token",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrainCommand(Generic[GivenInputs, Settings]):
    inputs: Annotated[GivenInputs, tyro.conf.arg(name="")]
    output: Annotated[Path, tyro.conf.arg(aliases=["-o", "--out"], metavar="DIR")]
    """Folder for the model. It must be new or empty."""
    recipe: Annotated[str, tyro.conf.arg(metavar="NAME")] = "automatic"
    """A named set of settings; "automatic" fits them to the amount of data."""
    resume: bool = False
    """Resume the run in --output, which remembers all other options. If there is none, start it."""
    tensorboard: bool = False
    """Also write the log for TensorBoard, to OUTPUT/training/tensorboard."""
    settings: Annotated[Settings, tyro.conf.arg(name="")]


Command = TrainCommand[Any, Any]


def main(name: str, arguments: list[str]) -> None:
    # Must be set before torch is imported: large tensors then use huge pages, which is faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    siblings: tuple[Trainable, ...] = resolve(trainings()[name].trainables)
    trainable = choose(siblings, arguments)
    if wants_help(arguments):
        parse(
            trainable, [HELP_ALL if HELP_ALL in arguments else "--help"], shown_defaults(trainable, arguments)
        )
    check_options(trainable, siblings, arguments)
    if is_resumed(arguments):
        command = read_resumed(trainable, arguments)
        train(trainable, command, arguments, given=frozenset())
        return
    if "--resume" in arguments:
        check_can_start(trainable, arguments)
    new = [each for each in arguments if each != "--resume"]
    default = nominal(trainable, option(arguments, "--recipe"))
    command = parse(trainable, new, default)
    if "--resume" in arguments and not is_helper():
        say(f"no run found in {command.output}; starting a new one")
    given = {field.path[1:]: field for field in fields_given(fields_of(trainable, default), new)}
    train(trainable, command, arguments, given=frozenset(path for path in given if path))


# Trainables and their options ----------------------------------------------------------------------------


def choose(siblings: Sequence[Trainable], arguments: list[str]) -> Trainable:
    """The most specific trainable whose inputs are given. A run that is resumed has its own."""
    names = inputs_of_run(arguments) if is_resumed(arguments) else input_names(arguments)
    fitting = [each for each in siblings if each.needs <= names]
    if wants_help(arguments):  # `--fine-tune --help` names no other input
        fitting = [each for each in siblings if each.needs & names] or fitting
        return min(fitting, key=lambda each: len(each.needs - names) - len(each.needs & names))
    return max(fitting, key=lambda each: len(each.needs))


def input_names(arguments: list[str]) -> set[str]:
    return {name.removeprefix("--").replace("-", "_") for name in names_in(arguments)}


def inputs_of_run(arguments: list[str]) -> set[str]:
    """Names of the inputs of the run that is resumed."""
    from qkv.checkpoint.files import read_sealed

    return {
        name for name, value in read_sealed(run_file(output_in(arguments))).get("files", {}).items() if value
    }


def check_options(trainable: Trainable, siblings: Sequence[Trainable], arguments: list[str]) -> None:
    """Explain an option of another trainable with the same name, and an empty list of files."""
    own = {name: field for field in fields_of(trainable) for name in (field.flag, *field.aliases)}
    for name in sorted(names_in(arguments) - set(own)):
        homes = [other for other in siblings if name in {field.flag for field in fields_of(other)}]
        if homes and is_resumed(arguments):
            raise UserError(f"the run in {output_in(arguments)} was started without {name}: leave it out.")
        if homes:
            raise UserError(why_not(name, trainable, homes, input_names(arguments)))
    for name in names_in(arguments) & set(own):
        if own[name].takes_many and (option(arguments, name) or "--").startswith("--"):
            raise UserError(f"{name} needs at least one file.")


def why_not(name: str, trainable: Trainable, homes: Sequence[Trainable], given: set[str]) -> str:
    """Why an option of the trainables `homes` is not one of this trainable."""
    nearest = min(homes, key=lambda each: (-len(each.needs & trainable.needs), len(each.needs - given)))
    conflicts = trainable.needs - nearest.needs - {field.path[-1] for field in option_fields(nearest.inputs)}
    if conflicts:
        return f"{name} cannot be combined with {' and '.join(sorted(map(flag_of, conflicts)))}."
    ways = sorted(" and ".join(sorted(map(flag_of, each.needs - given))) for each in homes)
    return f"{name} needs {listed(ways)}."


def listed(ways: Sequence[str]) -> str:
    *others, last = ways
    return f"{', '.join(others)} or {last}" if others else last


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def fields_of(trainable: Trainable, default: Any = None) -> list[OptionField]:
    return option_fields(command_type(trainable), default)


def command_type(trainable: Trainable) -> Any:
    return TrainCommand[trainable.inputs, trainable.settings]  # type: ignore[name-defined]


def shown_defaults(trainable: Trainable, arguments: list[str]) -> Command:
    """The defaults in the help: those of the given recipe and architecture."""
    recipe, architecture = option(arguments, "--recipe"), option(arguments, "--architecture")
    default = nominal(trainable, recipe)
    paths = [field.path for field in fields_of(trainable) if field.name == "architecture"]
    if architecture is None or not paths:
        return default
    return nominal(trainable, recipe, with_values(default, {paths[0]: architecture}))


def nominal(trainable: Trainable, recipe: str | None, command: Command | None = None) -> Command:
    """A command with the settings of a recipe for the nominal amount of data."""
    settings = find_recipe(recipe or "automatic", trainable.recipes(command))(trainable.nominal)
    made: Command = command_type(trainable)(inputs=trainable.inputs(), output=tyro.MISSING, settings=settings)
    return made


def parse(trainable: Trainable, arguments: list[str], default: Command) -> Command:
    inputs = {field.name for field in option_fields(trainable.inputs)}
    return read_options(
        command_type(trainable),
        arguments,
        prog=f"qkv train {trainable.name}",
        description=description(trainable),
        default=default,
        common=COMMON | inputs,
    )


def description(trainable: Trainable) -> str:
    recipes = "\n".join(
        f"  {name}: {' '.join((recipe.__doc__ or '').split())}"
        for name, recipe in trainable.recipes(None).items()
    )
    return (
        f"{trainable.summary}\n\nRecipes:\n{recipes}\n\n"
        f"Defaults are those of the recipe. The automatic ones are shown for {trainable.nominal:,} {trainable.unit}."
    )


def option(arguments: list[str], *names: str) -> str | None:
    """The value of an option, before parsing; None if it is not given."""
    for index, argument in enumerate(arguments):
        given, equals, value = argument.partition("=")
        if given.replace("_", "-") not in names:
            continue
        if equals:
            return value
        if index + 1 < len(arguments):
            return arguments[index + 1]
    return None


# Resuming ------------------------------------------------------------------------------------------------------


def output_in(arguments: list[str]) -> Path:
    out = option(arguments, *OUTPUT)
    if out is None:
        raise UserError("--resume needs --output with the folder of the run.")
    return Path(out)


def run_file(out: Path) -> Path:
    return out / "training" / "run.json"


def is_resumed(arguments: list[str]) -> bool:
    """Is there a run to resume? Without one, --resume starts it."""
    return "--resume" in arguments and run_file(output_in(arguments)).is_file()


def check_can_start(trainable: Trainable, arguments: list[str]) -> None:
    """The same command starts and resumes a run, but a misspelled folder must not start one."""
    of_any_run = {"--resume", *OUTPUT, "--tensorboard", "--processes", "--precision", "--validate-every"}
    given = names_in(arguments) - of_any_run
    wanted = {flag_of(name) for name in trainable.starts_with}
    if not given or (wanted and not wanted & given):
        raise UserError(
            f"no run found in {output_in(arguments)}. Check the folder, or name the training data to start a new run."
        )


def read_resumed(trainable: Trainable, arguments: list[str]) -> Command:
    """Take all options from the run. Options that are given again must not differ, except for paths of data and for
    limits on steps and minutes that are higher than before."""
    from qkv.checkpoint.files import read_sealed

    out = output_in(arguments)
    stored = read_sealed(run_file(out))
    if "files" not in stored:
        raise UserError(f"{out} holds a run of `qkv demo`, which cannot be resumed. Start the demo again.")
    if stored.get("kind") != trainable.name:
        raise UserError(
            f"{out} holds a run of `qkv train {stored.get('kind')}`. Resume it with that command."
        )
    before: Command = command_type(trainable)(
        inputs=trainable.inputs.from_stored(stored["files"]),
        output=out,
        recipe=stored["recipe"],
        resume=True,
        tensorboard=stored.get("tensorboard", False),
        settings=from_dict(trainable.settings, current_settings(stored), str(run_file(out))),
    )
    given = [each for each in arguments if each != "--resume"]
    command = parse(trainable, given, replace(before, resume=False))
    decided, wanted = before.settings.training, command.settings.training
    processes = wanted.processes or decided.processes  # may change
    precision = decided.precision if wanted.precision == "auto" else wanted.precision
    often = wanted.validate_every
    if isinstance(before.settings, TuningSettings):  # it may have been lowered to fit the number of steps
        often = min(often, decided.validate_every)
    command = with_training(
        command, replace(wanted, processes=processes, precision=precision, validate_every=often)
    )
    before = with_training(before, replace(decided, processes=processes))
    before = extended(before, command)
    both = zip(comparable(before), comparable(command), strict=True)
    changed = sorted({flag_of(path[-1]) for then, now in both for path in changed_paths(then, now)})
    if changed:
        raise UserError(
            f"a resumed run keeps its options, but these differ: {', '.join(changed)}. Only --steps and --minutes may "
            "be higher than before."
        )
    return replace(before, tensorboard=command.tensorboard, inputs=command.inputs)


def extended(before: Command, command: Command) -> Command:
    """The run with the limits that the command raises."""
    limits = asdict(command.settings)
    raised = {name: limits[name] for name in raised_limits(asdict(before.settings), limits)}
    return replace(before, settings=replace(before.settings, **raised))


def data_of_run(out: Path) -> dict[str, str]:
    """Hashes of the data that a run was started with."""
    from qkv.checkpoint.files import read_sealed

    hashes: dict[str, str] = read_sealed(run_file(out))["data"]
    return hashes


def with_training(command: Command, training: TrainingSettings) -> Command:
    return replace(command, settings=replace(command.settings, training=training))


def comparable(command: Command) -> list[dict[str, Any]]:
    """What must not change. A file may have moved; the hash of its content is checked elsewhere."""
    inputs = {name: without_paths(value) for name, value in vars(command.inputs).items()}
    return [{"recipe": command.recipe}, inputs, asdict(command.settings)]


def without_paths(value: Any) -> Any:
    """Replace paths by whether there are any."""
    return bool(value) if isinstance(value, Path | tuple) else value


# The run -------------------------------------------------------------------------------------------------------


def train(
    trainable: Trainable, command: Command, arguments: list[str], *, given: frozenset[tuple[str, ...]]
) -> None:
    from qkv.training.distributed import shared_run
    from qkv.training.runs import claimed

    if command.tensorboard:
        from qkv.cli.tensorboard import summary_writer

        summary_writer()  # fails now, not after the run has started, if it is not installed
    with nullcontext() if is_helper() else claimed(command.output, resume=command.resume):
        data = command.inputs.read(command.settings, say)
        again = command.inputs.can_be_read_again()
        if not again and under_torchrun():
            raise UserError(
                "under torchrun every process reads the data: give files or a folder, not a pipe."
            )
        if not command.resume:
            command = settle(trainable, command, given, data.amount, again=again)
        elif not again:
            command = with_training(command, replace(command.settings.training, processes=1))
        with shared_run(["train", trainable.name, *arguments], command.settings.training.processes) as group:
            setup = Setup(
                group=group,
                given=frozenset(path[-1] for path in given),
                say=say,
                data_before=data_of_run(command.output) if command.resume else {},
            )
            outcome = run(trainable, command, data, setup)
    if is_helper():
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        how = "stopped and saved" if outcome.saved else "stopped without saving; the last checkpoint is older"
        say(f"{how}. To resume: {resume_command(trainable, command.output)}")
        sys.exit(outcome.exit_code)
    summarize(trainable, outcome.report, command.output)


def settle(
    trainable: Trainable, command: Command, given: frozenset[tuple[str, ...]], amount: int, *, again: bool
) -> Command:
    """Apply the recipe for this amount of data, then the options that the user gave."""
    from qkv.training.distributed import processes_for

    recipe = find_recipe(command.recipe, trainable.recipes(command))
    known = {field.path[1:] for field in fields_of(trainable) if field.path[0] == "settings"}
    settings: Any = with_values(
        recipe(amount), {path: value_at(command.settings, path) for path in given & known}
    )
    if ("minutes",) in given and ("steps",) not in given:
        settings = replace(settings, steps=None)
    settings.check()
    training = settings.training
    if settings.steps is not None and ("training", "validate_every") not in given:
        training = replace(training, validate_every=max(1, min(training.validate_every, settings.steps // 4)))
    if under_torchrun() and ("training", "processes") in given:
        raise UserError("torchrun sets the number of processes: leave out --processes.")
    processes = processes_for(training.processes, training.batch_tokens) if again else 1
    return with_training(replace(command, settings=settings), replace(training, processes=processes))


def run(trainable: Trainable, command: Command, data: Any, setup: Setup) -> Outcome[Any]:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.training.runs import train as train_task

    make_task: Callable[..., Task[Any]] = resolve(trainable.task)
    task = make_task(data, command.inputs, command.settings, setup)
    with TrainingDisplay(task.example(), task.unit) as display, resumable(trainable, command.output):
        return train_task(
            task,
            command.output,
            watch=partial(make_watch, command, display),
            group=setup.group,
            resume=command.resume,
            remember={
                "kind": trainable.name,
                "files": command.inputs.stored(),
                "recipe": command.recipe,
                "tensorboard": command.tensorboard,
            },
        )


def make_watch(command: Command, display: TrainingDisplay, product: Any) -> Watch:
    watch = display.watch(product)
    if not command.tensorboard:
        return watch
    from qkv.cli.tensorboard import FOLDER, Scalars

    return Scalars(watch, command.output / "training" / FOLDER)


@contextmanager
def resumable(trainable: Trainable, out: Path) -> Iterator[None]:
    """Print how to resume after a Ctrl-C outside training steps, such as while learning a vocabulary."""
    try:
        yield
    except KeyboardInterrupt:
        if run_file(out).exists():
            say(f"stopped. To resume: {resume_command(trainable, out)}")
        raise


def resume_command(trainable: Trainable, out: Path) -> str:
    return f"{program()} train {trainable.name} --resume --output {shlex.quote(str(out))}"


# Output -----------------------------------------------------------------------------------------


def say(line: str) -> None:
    from qkv.cli.terminal import say as print_line

    print_line(line)


def summarize(trainable: Trainable, report: Mapping[str, Any], out: Path) -> None:
    training = report["training"]
    speed = " ".join(
        f"{value:,} {name.removesuffix('_per_second')}/s"
        for name, value in training.items()
        if name.endswith("_per_second")
    )
    say(
        f"{training['steps']:,} steps in {training['minutes']} minutes, {speed}; kept the {training['weights']}"
    )
    if training["ended_by"] == "minutes" and training["still_falling"]:
        say(advice_on_time(trainable, out))
    for line in trainable.tells(report):
        say(line)
    for name, value in report.get("results", {}).items():
        say(f"{name}: {value}")
    if trainable.shows is not None:
        trainable.shows(report)
    draw_learning_curve(out)
    folder = shlex.quote(str(out))
    texts = " ".join(['"…"'] * TEXTS_OF_FORM.get(report["data"].get("form"), 1))
    say(f"the model is in {out}. Try: {program()} {trainable.usage.format(out=folder, texts=texts)}")


def advice_on_time(trainable: Trainable, out: Path) -> str:
    siblings: tuple[Trainable, ...] = resolve(trainings()[trainable.name].trainables)
    fine_tunes = any("fine_tune" in each.needs for each in siblings)
    others = " Or start from a published model with --fine-tune." if fine_tunes else ""
    return (
        "advice: the time limit ended training while the validation loss was still falling. For a better model, resume "
        f"with more time: {resume_command(trainable, out)} --minutes MINUTES, where MINUTES is the new total.{others}"
    )


def draw_learning_curve(out: Path) -> None:
    from qkv.pictures import learning_curve_picture

    picture = out / "learning-curve.png"
    try:
        learning_curve_picture(picture, out / "training")
    except (UserError, OSError, ValueError) as error:  # no matplotlib, a full disk, or a damaged log
        say(f"no plot of the learning curve: {error}")
    else:
        say(f"learning curve: {picture}")
