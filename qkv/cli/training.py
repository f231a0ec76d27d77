"""`qkv train …` of whatever kind: options, recipes, resuming, processes that share the work."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Protocol, TypeVar

import tyro

from qkv.cli import program
from qkv.cli.options import read_options
from qkv.configs import changed_options, from_dict
from qkv.environment import is_helper, under_torchrun
from qkv.errors import UserError
from qkv.families.translator.recipes import find_recipe
from qkv.training.settings import RunSettings, TrainingSettings, TuningSettings

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.training.distributed import Group
    from qkv.training.loop import Watch
    from qkv.training.runs import Outcome


class Files(Protocol):
    """The data that a command was given, as a dataclass of paths and words."""

    def stored(self) -> dict[str, Any]:
        """For a run that may be resumed from another folder."""

    def can_be_read_again(self) -> bool:
        """Not a pipe, which only the first process could read."""


GivenFiles = TypeVar("GivenFiles", bound=Files)
Settings = TypeVar("Settings", bound=RunSettings)


@dataclass(frozen=True, kw_only=True)
class TrainCommand(Generic[GivenFiles, Settings]):
    files: Annotated[GivenFiles, tyro.conf.arg(name="")]
    out: Path
    """Folder for the model; it must not hold one yet."""
    recipe: str = "automatic"
    """Settings with a name; automatic fits them to the amount of data."""
    resume: bool = False
    """Go on with the run in --out, which remembers all other options; where none has begun yet, begin it. Data may be
    given again from wherever they are now."""
    tensorboard: bool = False
    """Write the log for TensorBoard too, to OUT/training/tensorboard."""
    settings: Annotated[Settings, tyro.conf.arg(name="")]


class Kind(Protocol):
    """What is special about training one kind of model from the command line.

    `read` is what the files hold, and `prepared` what training takes.
    """

    name: ClassVar[str]  # qkv train NAME
    command: ClassVar[Any]  # TrainCommand[…] with its types filled in: the options are read off them
    files: ClassVar[Any]
    settings: ClassVar[Any]
    recipes: ClassVar[Any]  # functions of the amount of data, by name
    nominal: ClassVar[int]  # the amount of data for which --help shows the automatic settings
    amount: ClassVar[str]  # what is counted: "pairs"
    summary: ClassVar[str]  # how --help begins, with an example

    def from_stored(self, stored: dict[str, Any]) -> Any:
        """The files of a run, as they were stored."""

    def check(self, settings: Any) -> None: ...

    def begun_with(self, names: set[str]) -> bool:
        """Do these options say what to learn from? Then a run that was never begun can be begun by --resume."""

    def read(self, command: Any) -> Any: ...

    def size(self, read: Any) -> int:
        """The amount of data."""

    def prepare(self, command: Any, read: Any) -> Any:
        """Now that the settings are known; each process does this for itself."""

    def display(self, prepared: Any) -> TrainingDisplay: ...

    def train(self, command: Any, prepared: Any, arguments: list[str], **how: Any) -> Outcome[Any]:
        """`how` is watch, group, resume and remember, as `qkv.training.runs.train` takes them."""

    def summarise(self, report: dict[str, Any], out: Path) -> None: ...


def main(kind: Kind, arguments: list[str]) -> None:
    # Before torch is imported: its large tensors then lie in large pages, which the system finds and clears faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    resumes = "--resume" in arguments and not {"-h", "--help"} & set(arguments)
    if resumes and not nothing_begun(kind, arguments):
        train(kind, parse_resumed(kind, arguments), arguments)
    else:
        arguments = [each for each in arguments if each != "--resume" or not resumes]
        recipe = find_recipe(option(arguments, "--recipe") or "automatic", kind.recipes)
        # The first reading finds misspelt options before any work is done; the data decide the rest.
        command = parse(kind, arguments, default_command(kind, recipe(kind.nominal)))
        if resumes:
            say_that_it_begins(command.out)
        train(kind, command, arguments)


def fine_tune(
    kind_for: Callable[[str | None], Kind], arguments: list[str], decided: Collection[str], what: str
) -> None:
    """`kind_for` is given the folder after --fine-tune, if there is one.

    `decided` are options, or groups of them, that say what the model has decided already.
    """
    groups = tuple(f"{each}." for each in decided)
    given = sorted(name for name in names_in(arguments) if name in decided or name.startswith(groups))
    if given:
        raise UserError(f"with --fine-tune a model keeps {what}: leave out {' and '.join(given)}.")
    if {"-h", "--help"} & set(arguments):  # `--fine-tune --help` names no folder
        arguments = ["--help"]
    main(kind_for(option(arguments, "--fine-tune")), arguments)


def parse(kind: Kind, arguments: list[str], default: Any) -> TrainCommand[Any, Any]:
    prog = f"qkv train {kind.name}"
    return read_options(kind.command, arguments, prog=prog, description=description(kind), default=default)


def default_command(kind: Kind, settings: RunSettings) -> TrainCommand[Any, Any]:
    return kind.command(files=kind.files(), out=tyro.MISSING, settings=settings)


def description(kind: Kind) -> str:
    recipes = "\n".join(
        f"  {name}: {' '.join((recipe.__doc__ or '').split())}" for name, recipe in kind.recipes.items()
    )
    return (
        f"{kind.summary}\n\nRecipes:\n{recipes}\n\n"
        f"Defaults below are those of the recipe; the automatic ones are shown for {kind.nominal:,} {kind.amount}."
    )


OF_ANY_RESUMED = {  # options that say nothing of what a run is about
    "--resume",
    "--out",
    "--tensorboard",
    "--training.processes",
    "--training.precision",
    "--training.validate-every",
}


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option before the rest is parsed, or None. Underscores are as good as hyphens, as everywhere."""
    for index, argument in enumerate(arguments):
        given, equals, value = argument.partition("=")
        if given.replace("_", "-") != name:
            continue
        if equals:
            return value
        if index + 1 < len(arguments):
            return arguments[index + 1]
    return None


def nothing_begun(kind: Kind, arguments: list[str]) -> bool:
    """A run that was killed before it began is begun now, so that one command with --resume always goes on."""
    out = option(arguments, "--out")
    return kind.begun_with(names_in(arguments)) and out is not None and not run_file(Path(out)).exists()


def say_that_it_begins(out: Path) -> None:
    """To whoever expected a run there, and has perhaps misspelt its folder."""
    from qkv.cli.terminal import say

    say(f"{out} holds no run yet: this one begins")


def run_file(out: Path) -> Path:
    return out / "training" / "run.json"


def parse_resumed(kind: Kind, arguments: list[str]) -> TrainCommand[Any, Any]:
    """All options come from the run itself. One that is given again must be what it was, but for where the data lie."""
    from qkv.checkpoint.files import read_sealed

    out = option(arguments, "--out")
    if out is None:
        raise UserError(f"--resume needs the folder of the run: qkv train {kind.name} --resume --out DIR.")
    if not run_file(Path(out)).is_file():
        raise UserError(
            f"{out} holds no training run to resume: give the data too, or leave out --resume, and it is begun."
        )
    stored = read_sealed(run_file(Path(out)))
    if "files" not in stored:
        raise UserError(f"the run in {out} was made by `qkv demo`, which is short: run it again.")
    if "kind" not in stored:
        raise UserError(f"{out} was begun by an earlier version of qkv: finish it with that one.")
    if stored["kind"] != kind.name:
        raise UserError(f"{out} holds a run of `qkv train {stored['kind']}`: resume it with that.")
    try:
        files = kind.from_stored(stored["files"])
    except TypeError:  # one command may train several kinds, told apart by their data
        raise UserError(
            f"the run in {out} was begun with other kinds of data: leave out what is not --out and --resume."
        ) from None
    before = kind.command(
        files=files,
        out=Path(out),
        recipe=stored["recipe"],
        resume=True,
        tensorboard=stored.get("tensorboard", False),
        settings=from_dict(kind.settings, stored["settings"], str(run_file(Path(out)))),
    )
    given = [each for each in arguments if each != "--resume"]
    command = parse(kind, given, replace(before, resume=False))
    decided = before.settings.training
    wanted = command.settings.training
    processes = wanted.processes or decided.processes  # may change; what was left to the command is as it was
    precision = decided.precision if wanted.precision == "auto" else wanted.precision
    often = wanted.validate_every
    if isinstance(
        before.settings, TuningSettings
    ):  # where its epochs gave few steps, it was lowered to fit them
        often = min(often, decided.validate_every)
    command = with_training(
        command, replace(wanted, processes=processes, precision=precision, validate_every=often)
    )
    before = with_training(before, replace(decided, processes=processes))
    both = zip(options_of(before), options_of(command), strict=True)
    changed = sorted(name for then, now in both for name in changed_options(then, now))
    if changed:
        raise UserError(f"a resumed run keeps its options, but these differ: {', '.join(changed)}.")
    return replace(before, tensorboard=command.tensorboard, files=command.files)


def with_training(command: TrainCommand[Any, Any], training: TrainingSettings) -> TrainCommand[Any, Any]:
    return replace(command, settings=replace(command.settings, training=training))


def options_of(command: TrainCommand[Any, Any]) -> list[dict[str, Any]]:
    """Where a file lies may change, from one machine to another or with every pipe: the hash of its content may not."""
    files = {name: without_paths(value) for name, value in vars(command.files).items()}
    return [{"recipe": command.recipe}, files, asdict(command.settings)]


def without_paths(value: Any) -> Any:
    """Of one path or several, whether there is any."""
    return bool(value) if isinstance(value, Path | tuple) else value


def train(kind: Kind, command: TrainCommand[Any, Any], arguments: list[str]) -> None:
    from qkv.cli.terminal import say
    from qkv.training.distributed import shared_run
    from qkv.training.runs import refuse_to_overwrite

    if not command.resume and not is_helper():
        refuse_to_overwrite(command.out)
    if command.tensorboard:
        from qkv.cli.tensorboard import summary_writer

        summary_writer()  # whether it is there is better known before the work
    read = kind.read(command)
    if not command.resume:
        command = settle(kind, command, arguments, kind.size(read))
    elif not command.files.can_be_read_again():
        refuse_pipes_under_torchrun()
        command = with_training(command, replace(command.settings.training, processes=1))
    with shared_run(["train", kind.name, *arguments], command.settings.training.processes) as group:
        outcome = run_shared(kind, command, read, arguments, group)
    if is_helper():
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        how = "stopped and saved" if outcome.saved else "stopped; the last checkpoint is an earlier one"
        say(f"{how}; to go on: {resume_command(kind, command.out)}")
        sys.exit(outcome.exit_code)
    kind.summarise(outcome.report, command.out)


def run_shared(
    kind: Kind, command: TrainCommand[Any, Any], read: Any, arguments: list[str], group: Group
) -> Outcome[Any]:
    prepared = kind.prepare(command, read)
    with kind.display(prepared) as display, resumable(kind, command.out):
        return kind.train(
            command,
            prepared,
            arguments,
            watch=partial(watched, command, display),
            group=group,
            resume=command.resume,
            remember={
                "kind": kind.name,
                "files": command.files.stored(),
                "recipe": command.recipe,
                "tensorboard": command.tensorboard,
            },
        )


def watched(command: TrainCommand[Any, Any], display: TrainingDisplay, product: Any) -> Watch:
    watch = display.watch(product)
    if not command.tensorboard:
        return watch
    from qkv.cli.tensorboard import FOLDER, Scalars

    return Scalars(watch, command.out / "training" / FOLDER)


def settle(
    kind: Kind, command: TrainCommand[Any, Any], arguments: list[str], size: int
) -> TrainCommand[Any, Any]:
    """Read the options again with the defaults that fit the data, and fill in what follows from them."""
    from qkv.training.distributed import processes_for

    recipe = find_recipe(command.recipe, kind.recipes)
    command = parse(kind, arguments, default_command(kind, recipe(size)))
    settings, given = command.settings, names_in(arguments)
    if "--minutes" in given and "--steps" not in given:
        settings = replace(settings, steps=None)
    kind.check(settings)
    training = settings.training
    if settings.steps is not None and "--training.validate-every" not in given:
        training = replace(training, validate_every=max(1, min(training.validate_every, settings.steps // 4)))
    again = command.files.can_be_read_again()
    if not again:
        refuse_pipes_under_torchrun()
    if under_torchrun() and "--training.processes" in given:
        raise UserError("torchrun says how many processes there are: leave out --training.processes.")
    processes = processes_for(training.processes, training.batch_tokens) if again else 1
    return with_training(replace(command, settings=settings), replace(training, processes=processes))


def refuse_pipes_under_torchrun() -> None:
    if under_torchrun():
        raise UserError("under torchrun every process reads the data: give files or a folder, not a pipe.")


@contextmanager
def resumable(kind: Kind, out: Path) -> Iterator[None]:
    """A Ctrl-C outside the steps, while a vocabulary is learned or a report made, says how to go on as well."""
    from qkv.cli.terminal import say

    try:
        yield
    except KeyboardInterrupt:
        if run_file(out).exists():
            say(f"stopped; to go on: {resume_command(kind, out)}")
        raise


def resume_command(kind: Kind, out: Path) -> str:
    return f"{program()} train {kind.name} --resume --out {shlex.quote(str(out))}"


def names_in(arguments: list[str]) -> set[str]:
    """The names of the options that were given, without values."""
    given = [argument.split("=", 1)[0] for argument in arguments if argument.startswith("--")]
    return {name.replace("_", "-") for name in given}  # both spellings are accepted


def names_in_run(arguments: list[str]) -> set[str]:
    """The options for data that the run has which is resumed: they tell what kind of run it is."""
    from qkv.checkpoint.files import read_sealed

    out = option(arguments, "--out")
    if "--resume" not in arguments or out is None or not run_file(Path(out)).is_file():
        return set()
    return {f"--{name.replace('_', '-')}" for name in read_sealed(run_file(Path(out))).get("files", {})}


def say_how_it_went(report: dict[str, Any], *, can_be_fine_tuned: bool = True) -> None:
    from qkv.cli.terminal import advise, say

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
        others = (
            ", continue from this model with --fine-tune, or fine-tune a published one (`qkv import`)"
            if can_be_fine_tuned
            else ""
        )
        advise(
            "the time limit ended training while the validation loss was still falling. For a better model, train again "
            f"with more --minutes{others}."
        )


def draw_learning_curve(out: Path) -> None:
    from qkv.cli.terminal import say
    from qkv.pictures import learning_curve_picture

    picture = out / "learning-curve.png"
    try:
        learning_curve_picture(picture, out / "training")
    except (
        UserError,
        OSError,
        ValueError,
    ) as error:  # without matplotlib, or room, or a whole log, there is all the rest
        say(f"no picture of the learning curve: {error}")
    else:
        say(f"learning curve: {picture}")
