"""distill: a small, fast student learns from the translations of its teachers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from qkv.api.jobs import Job, Show, execute, value_at
from qkv.api.resuming import resumed_command, run_file, stored_command
from qkv.api.starting import kept_random_state, model_input, trainables_of
from qkv.checkpoint.files import make_folders, read_json, read_sealed, seal, write_json
from qkv.environment import require_torch, under_torchrun
from qkv.errors import InputTypeError, ModelError, QkvError
from qkv.families.translator.distillation.options import DistillInputs, DistillOptions, check_inputs
from qkv.families.translator.settings import TranslatorSettings
from qkv.flags import Flag, OptionMessageError, Positional
from qkv.signatures import options_of, replace_at, replace_options, with_options
from qkv.training.command import Command, Given, command_type, nominal_command
from qkv.training.python_data import GivenData, Values, write_data

if TYPE_CHECKING:
    from qkv.evaluation.display import Display
    from qkv.families.translator.distillation.data import Distillation
    from qkv.families.translator.product import Translator
    from qkv.keywords import DistillKeywords
    from qkv.training.callbacks import Callback

PLAN = "distillation.json"  # in OUTPUT/training: what the student is made from
WORK = "distillation"  # the folder of the stages in OUTPUT/training, unless another one is given


@dataclass(frozen=True, kw_only=True)
class DistillCommand:
    """What `qkv distill` and `qkv.distill` take. `settings` are those of `qkv train translator`."""

    teachers: Annotated[Positional[tuple[Path, ...]], Flag(metavar="TEACHER [TEACHER ...]")]
    """Folders of translators, trained or imported. Several are an ensemble."""
    inputs: Annotated[DistillInputs, Flag(name="")] = field(default_factory=DistillInputs)
    options: Annotated[DistillOptions, Flag(name="")] = field(default_factory=DistillOptions)
    output: Annotated[Path, Flag(aliases=["-o", "--out"], metavar="DIR")]
    """Folder for the student. If the command was interrupted, the same command resumes it."""
    recipe: Annotated[str, Flag(metavar="NAME")] = "automatic"
    """The settings of the student, as in `qkv train translator`."""
    settings: Annotated[TranslatorSettings, Flag(name="")]


def student_training() -> Any:
    """How a student is trained: as any translator."""
    return trainables_of("translator")[0]


def nominal_distillation(recipe: str | None) -> DistillCommand:
    """A command with the settings of a recipe for the nominal amount of data."""
    settings = nominal_command(student_training(), recipe).settings
    missing: Any = MISSING
    return DistillCommand(teachers=missing, output=missing, recipe=recipe or "automatic", settings=settings)


@with_options(
    nominal_distillation(None),
    aliases={"valid": "valid_pairs", "test": "test_pairs"},
    without=["teacher_models"],  # the first argument
)
def distill(
    teachers: Any,
    text: Any = None,
    *,
    text_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[DistillKeywords],
) -> Translator:
    """Distill teachers into a student: translate text, filter the translations, train on them, and compare.

    If it is interrupted, the same call resumes it. Stages that are complete are not repeated.

    Args:
        teachers: A translator or several: open models, folders, or names of models on the hub. All of one direction.
        text: Text without translations: a list or an iterator of sentences, a table. A string or a path is a file, and so is
            each path in a list of paths.
        text_column: The column of the text, if its name does not say so.
        source_column: The column of the sources of sentence pairs.
        target_column: The column of the targets.
        callbacks: Instances of `qkv.Callback`, for the training of the student.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The student, opened as by `qkv.load`. `student.report["distillation"]` compares it with its teachers.

    Raises:
        ModelError: The teachers translate between different languages, or one of them is no translator.
        InputError: An element of the data cannot be used; the message names it.

    Example:
        >>> text = [f"{a} {b} {c}" for a in ("one", "two", "six") for b in ("one", "two") for c in ("ten", "two", "one")]
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "ffn_width": 8, "vocab_size": 262, "processes": 1}
        >>> student = qkv.distill("runs/en-de", text, output="runs/student", max_ratio=50, progress=False, **tiny)
        >>> [teacher["name"] for teacher in student.report["distillation"]["teachers"]]
        ['en-de']
    """
    from qkv.families.loading import load
    from qkv.progress.display import python_display

    require_torch("distillation")
    if under_torchrun():
        raise QkvError("distillation runs on one machine: start it without torchrun.")
    columns = {"text_column": text_column, "source_column": source_column, "target_column": target_column}
    given = {**{name: value for name, value in columns.items() if value is not None}, **options}
    if text is not None:
        given["text"] = text
    if given.get("output") is None:
        raise TypeError("distill() needs output, the folder for the student.")
    command, data, chosen = python_command(teachers, given)
    show = Show(progress=progress, callbacks=callbacks)
    with (
        kept_random_state(),
        write_data(data, command.output, resumes=run_file(command.output).is_file()) as values,
    ):
        command = replace(command, teachers=values.pop("teachers", command.teachers))
        if "reverse" in values:
            command = replace(command, options=replace(command.options, reverse=values.pop("reverse")))
        command = replace(command, inputs=replace(command.inputs, **values))
        run_distill(command, chosen, python_display(progress), show)
    model: Translator = load(command.output)
    return model


def python_command(
    teachers: Any, given: Mapping[str, Any]
) -> tuple[DistillCommand, GivenData, frozenset[tuple[str, ...]]]:
    """The command that the arguments describe, the data to write first, and the settings that were chosen."""
    default = nominal_distillation(given.get("recipe"))
    several = teachers if isinstance(teachers, list | tuple) else [teachers]
    if not several:
        raise InputTypeError("teachers is empty; expected a model or its folder.")
    models = [model_input(f"teachers[{place}]", each) for place, each in enumerate(several)]
    reverse = None if given.get("reverse") is None else model_input("reverse", given["reverse"])
    data = DistillInputs.from_python(given)
    if any(not isinstance(each, Path) for each in (*models, *filter(None, [reverse]))):
        data = data.with_writer(partial(write_models, models, reverse))
    files = {each.name for each in options_of(DistillInputs)} - {"source_language", "target_language"}
    left_out = files | DistillInputs.PYTHON | {"reverse"}
    rest = {name: value for name, value in given.items() if name not in left_out}
    command = replace_options(default, {**rest, "output": Path(given["output"])})
    paths = {each.name: each.path for each in options_of(default)}
    chosen = frozenset(paths[name][1:] for name in rest if paths[name][0] == "settings")
    command = replace(command, teachers=tuple(models), options=replace(command.options, reverse=reverse))
    return command, data, chosen


def write_models(models: Sequence[Any], reverse: Any, folder: Path, _: Values) -> Values:
    """Save models that are in memory only, because training and a later call read them from files."""

    def saved(model: Any, name: str) -> Path:
        if isinstance(model, Path):
            return model
        model.save(folder / name)
        return folder / name

    found: Values = {"teachers": tuple(saved(each, f"teacher-{n}") for n, each in enumerate(models, 1))}
    return found if reverse is None else {**found, "reverse": saved(reverse, "reverse")}


# The stages --------------------------------------------------------------------------------------------------


def run_distill(command: DistillCommand, given: Given, display: Display, show: Show) -> dict[str, Any]:
    """Distill, or resume a distillation. Returns the report of the student, with the part `distillation`.

    `given` are the paths of the settings that the user chose.
    """
    require_torch("distillation")
    from qkv.training.claim import claim_output

    out = command.output
    check_inputs(command.inputs, command.options)
    check_output(out)
    plan = out / "training" / PLAN
    with claim_output(out, resume=plan.is_file()), say_how_to_resume(display, plan):
        distillation = open_distillation(command, display, show.progress)
        student_settings(command, given, distillation)  # mistakes show now, not after the translation
        train_key = distillation.training_data.key
        check_same_data(out, train_key, command)
        make_folders(distillation.folder)
        write_json(plan, seal({"training_data": train_key, "options": comparable_options(command)}))
        facts = distillation.prepare()
        report = train_student(command, given, distillation, show)
        return compare(report, facts, distillation, out)


def check_output(out: Path) -> None:
    if run_file(out).is_file() and not (out / "training" / PLAN).is_file():
        raise OptionMessageError("{out} already holds another training run: give another {output}.", out=out)


@contextmanager
def say_how_to_resume(display: Display, plan: Path) -> Iterator[None]:
    """An interruption or a full disk loses at most the part that was being translated."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        if plan.is_file():
            display.say("stopped. Everything up to here is saved: run the same command to resume.")
        raise


def open_distillation(command: DistillCommand, display: Display, progress: bool) -> Distillation:
    """Open the models and read the pairs: mistakes show before any long work."""
    from qkv.families.translator.distillation.corpora import read_corpora
    from qkv.families.translator.distillation.data import Distillation
    from qkv.families.translator.distillation.teachers import Teachers, open_reverse
    from qkv.runtime.running import Running

    options = command.options
    running = Running(compute_type=options.compute_type, threads=options.threads)
    teachers = Teachers.open(command.teachers, running, display.warn)
    teachers.check_confidence(options.min_confidence)
    if len(teachers.ensembles) > 1:
        display.say(
            f"the {len(teachers.members)} teachers have {len(teachers.ensembles)} different vocabularies: each vocabulary "
            "proposes translations, and the one that all teachers together find likeliest is kept."
        )
    reverse = None
    if options.reverse is not None:
        reverse = open_reverse(options.reverse, teachers.languages, running, display.warn)
    return Distillation(
        folder=options.work or command.output / "training" / WORK,
        inputs=command.inputs,
        options=options,
        settings=command.settings,
        teachers=teachers,
        reverse=reverse,
        corpora=read_corpora(command.inputs, command.settings, teachers.languages),
        display=display,
        progress=progress,
    )


def check_same_data(out: Path, key: str, command: DistillCommand) -> None:
    """A student whose training has started keeps its data. Before that, every option may change."""
    plan = out / "training" / PLAN
    if not run_file(out).is_file():
        return
    stored = read_sealed(plan)
    if stored["training_data"] == key:
        return
    now = comparable_options(command)
    changed = [name for name, value in now.items() if stored["options"].get(name) != value]
    names = ", ".join(f"{{{name}}}" for name in changed) or "the content of a file or of a model"
    raise OptionMessageError(
        f"the student in {{out}} is being trained on other data; changed: {names}. Give the options and files of before, or "
        "another {output}; with a shared folder {work}, translations are used again.",
        out=out,
    )


def comparable_options(command: DistillCommand) -> dict[str, Any]:
    """Options that the training data depend on, as JSON. Paths are not compared: files may move."""
    hidden = ("work", "threads", "word_level")  # word_level is a setting of the training, which compares it
    options = {name: value for name, value in asdict(command.options).items() if name not in hidden}
    settings = command.settings
    return {
        "teachers": len(command.teachers),
        **{name: value if not isinstance(value, Path) else True for name, value in options.items()},
        **{name: bool(value) for name, value in vars(command.inputs).items()},
        "max_characters": settings.data.max_characters,
        "max_length_ratio": settings.data.max_length_ratio,
        "valid_size": settings.data.valid_size,
    }


def train_student(
    command: DistillCommand, given: Given, distillation: Distillation, show: Show
) -> dict[str, Any]:
    """Train the student, or resume its training. Returns its report."""
    out, show_line = command.output, show.say
    job = student_job(command, given, distillation)
    finished = out / "report.json"
    if job.command.resume and finished.is_file() and not is_extended(job, out):
        report: dict[str, Any] = read_json(finished)
        return report
    show_line("training the student")
    outcome = execute(job, show, claimed=True)
    if outcome.report is None:
        show_line(f"stopped at step {outcome.step:,}, saved. Run the same command to resume.")
        if outcome.exit_code == 128 + SIGTERM:
            sys.exit(outcome.exit_code)
        raise KeyboardInterrupt("the training of the student is saved.")
    return dict(outcome.report)


def is_extended(job: Job, out: Path) -> bool:
    """Whether the command raises the limit on steps or minutes of a run."""
    before = stored_command(job.trainable, out).settings
    return any(getattr(before, name) != getattr(job.command.settings, name) for name in ("steps", "minutes"))


def student_job(command: DistillCommand, given: Given, distillation: Distillation) -> Job:
    trainable, out = student_training(), command.output
    source, target = distillation.teachers.languages.named()
    inputs = trainable.inputs(
        pairs=(distillation.training_data.file,),
        valid_pairs=distillation.valid_file(),
        source_language=source,
        target_language=target,
    )
    settings, given = student_settings(command, given, distillation)
    new: Command = command_type(trainable)(
        inputs=inputs, output=out, recipe=command.recipe, settings=settings
    )
    if not run_file(out).is_file():
        return Job(trainable=trainable, command=new, given=given)
    before = stored_command(trainable, out)
    chosen = {path: value_at(settings, path) for path in given}
    again = replace(new, settings=replace_at(before.settings, chosen) if chosen else before.settings)
    return Job(trainable=trainable, command=resumed_command(before, again))


def student_settings(
    command: DistillCommand, given: Given, distillation: Distillation
) -> tuple[TranslatorSettings, Given]:
    """The settings of the student; for word-level distillation, with its teachers."""
    if command.settings.distillation.teacher_models:
        raise OptionMessageError(
            "give the teachers first, and {word_level} to learn their probabilities too."
        )
    if not command.options.word_level:
        return command.settings, given
    if len(distillation.teachers.ensembles) > 1:
        raise ModelError(
            "the teachers have different vocabularies, so a student cannot learn their probabilities of tokens. Distill "
            "without word-level distillation: the student then learns from their translations, with its own vocabulary."
        )
    path = ("distillation", "teacher_models")
    teachers = tuple(str(each.absolute()) for each in command.teachers)
    return replace_at(command.settings, {path: teachers}), given | {path}


# The report --------------------------------------------------------------------------------------------------


def compare(
    report: dict[str, Any], facts: dict[str, Any], distillation: Distillation, out: Path
) -> dict[str, Any]:
    """Measure student and teachers, and add the result to the report and to the model card; once for each student."""
    from qkv.checkpoint.bundle import save_report
    from qkv.families.translator.distillation.measuring import measure_student, student_hash
    from qkv.families.translator.distillation.report import with_distillation

    if report.get("distillation", {}).get("student") == student_hash(out):
        return report
    found = {"student": student_hash(out), **measure_student(distillation, out), "data": facts}
    card = (out / "README.md").read_text(encoding="utf-8")
    full = {**report, "distillation": found}
    save_report(out, full, with_distillation(card, found))
    return full
