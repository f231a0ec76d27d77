"""`qkv train translator`: from the user's files to a bundle."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from qkv.cli import program
from qkv.cli.files import Files, read_files
from qkv.cli.options import read_options
from qkv.configs import changed_options, from_dict
from qkv.environment import is_helper, under_torchrun
from qkv.errors import UserError
from qkv.training.recipes import RECIPES, find_recipe, published_rows
from qkv.training.settings import TrainingSettings, TranslatorSettings, check_settings

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.pipeline import Translator
    from qkv.training.loop import Watch

NOMINAL_PAIRS = 30_000  # the amount of data for which --help shows the automatic settings


@dataclass(frozen=True, kw_only=True)
class TrainTranslator:
    files: Annotated[Files, tyro.conf.arg(name="")]
    out: Path
    """Folder for the model; it must not hold one yet."""
    recipe: str = "automatic"
    """Settings with a name; automatic fits them to the amount of data."""
    resume: bool = False
    """Go on with the run in --out, which remembers all other options; where none has begun yet, begin it."""
    tensorboard: bool = False
    """Write the log for TensorBoard too, to OUT/training/tensorboard."""
    settings: Annotated[TranslatorSettings, tyro.conf.arg(name="")]


def main(arguments: list[str]) -> None:
    # Before torch is imported: its large tensors then lie in large pages, which the system finds and clears faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    resumes = "--resume" in arguments and not {"-h", "--help"} & set(arguments)
    if resumes and not nothing_begun(arguments):
        train(parse_resumed(arguments), arguments)
    else:
        arguments = [each for each in arguments if each != "--resume" or not resumes]
        recipe = find_recipe(option(arguments, "--recipe") or "automatic")
        # The first reading finds misspelt options before any work is done; the data decide the rest.
        command = parse(arguments, default_command(recipe(NOMINAL_PAIRS)))
        train(command, arguments)


def parse(arguments: list[str], default: TrainTranslator) -> TrainTranslator:
    return read_options(
        TrainTranslator, arguments, prog="qkv train translator", description=description(), default=default
    )


def default_command(settings: TranslatorSettings) -> TrainTranslator:
    return TrainTranslator(files=Files(), out=tyro.MISSING, settings=settings)


def description() -> str:
    recipes = "\n".join(
        f"  {name}: {' '.join((recipe.__doc__ or '').split())}" for name, recipe in RECIPES.items()
    )
    return (
        "Train a translator on your own sentence pairs, for example\n"
        "  qkv train translator --source a.en --target a.de --out runs/en-de\n\n"
        f"Recipes:\n{recipes}\n\n"
        f"Defaults below are those of the recipe; the automatic ones are shown for {NOMINAL_PAIRS:,} pairs."
    )


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option before the rest is parsed, or None."""
    for index, argument in enumerate(arguments):
        if argument == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith(f"{name}="):
            return argument.removeprefix(f"{name}=")
    return None


def nothing_begun(arguments: list[str]) -> bool:
    """A run that was killed before it began is begun now, so that one command with --resume always goes on."""
    out = option(arguments, "--out")
    data = {"--source", "--target", "--pairs", "--data"} & names_in(arguments)
    return bool(data) and out is not None and not run_file(Path(out)).exists()


def run_file(out: Path) -> Path:
    return out / "training" / "run.json"


def parse_resumed(arguments: list[str]) -> TrainTranslator:
    """All options come from the run itself. One that is given again must be what it was."""
    from qkv.checkpoint.files import read_sealed

    out = option(arguments, "--out")
    if out is None:
        raise UserError("--resume needs the folder of the run: qkv train translator --resume --out DIR.")
    if not run_file(Path(out)).is_file():
        raise UserError(f"{out} holds no training run to resume: give the data too, and it is begun.")
    stored = read_sealed(run_file(Path(out)))
    if "files" not in stored:
        raise UserError(f"the run in {out} was made by `qkv demo`, which is short: run it again.")
    before = TrainTranslator(
        files=Files.from_stored(stored["files"]),
        out=Path(out),
        recipe=stored["recipe"],
        resume=True,
        tensorboard=stored.get("tensorboard", False),
        settings=from_dict(TranslatorSettings, stored["settings"], str(run_file(Path(out)))),
    )
    command = parse([each for each in arguments if each != "--resume"], replace(before, resume=False))
    decided = before.settings.training
    given = command.settings.training
    processes = given.processes or decided.processes  # may change; what was left to the command is as it was
    precision = decided.precision if given.precision == "auto" else given.precision
    command = with_training(command, replace(given, processes=processes, precision=precision))
    before = with_training(before, replace(decided, processes=processes))
    both = zip(options_of(before), options_of(command), strict=True)
    changed = sorted(name for then, now in both for name in changed_options(then, now))
    if changed:
        raise UserError(f"a resumed run keeps its options, but these differ: {', '.join(changed)}.")
    return replace(before, tensorboard=command.tensorboard)


def with_training(command: TrainTranslator, training: TrainingSettings) -> TrainTranslator:
    return replace(command, settings=replace(command.settings, training=training))


def options_of(command: TrainTranslator) -> list[dict[str, Any]]:
    """A file is the same one by whatever path it is given."""
    return [{"recipe": command.recipe}, command.files.stored(), asdict(command.settings)]


def train(command: TrainTranslator, arguments: list[str]) -> None:
    from qkv.cli.terminal import TrainingDisplay, say
    from qkv.training.corpus import prepare_corpus
    from qkv.training.distributed import shared_run
    from qkv.training.translator import refuse_to_overwrite, train_translator

    if not command.resume and not is_helper():
        refuse_to_overwrite(command.out)
    if command.tensorboard:
        from qkv.cli.tensorboard import summary_writer

        summary_writer()  # whether it is there is better known before the work
    given = read_files(command.files, command.settings.data)
    if not command.resume:
        command = settle(command, arguments, len(given.pairs))
    settings = command.settings
    with shared_run(["train", "translator", *arguments], settings.training.processes) as group:
        corpus = prepare_corpus(
            given.pairs,
            given.valid,
            given.languages,
            settings.data,
            settings.seed,
            given.origin,
            given.tests,
        )
        counts = ", ".join(f"{count:,} {reason}" for reason, count in corpus.dropped.items())
        say(f"{len(given.pairs):,} pairs read; dropped: {counts}")
        say(f"{len(corpus.train):,} to train on, {len(corpus.valid):,} to validate on")
        example = min(corpus.valid.source[:50], key=lambda text: abs(len(text) - 40))
        with TrainingDisplay(example) as display, resumable(command.out):
            outcome = train_translator(
                corpus,
                settings,
                command.out,
                watch=partial(watched, command, display),
                group=group,
                resume=command.resume,
                exact_vocabulary="--vocabulary" in names_in(arguments),
                remember={
                    "files": command.files.stored(),
                    "recipe": command.recipe,
                    "tensorboard": command.tensorboard,
                },
            )
    if is_helper():
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        how = "stopped and saved" if outcome.saved else "stopped; the last checkpoint is an earlier one"
        say(f"{how}; to go on: {resume_command(command.out)}")
        sys.exit(outcome.exit_code)
    summarise(outcome.report, command.out)


def watched(command: TrainTranslator, display: TrainingDisplay, translator: Translator) -> Watch:
    watch = display.watch(translator)
    if not command.tensorboard:
        return watch
    from qkv.cli.tensorboard import FOLDER, Scalars

    return Scalars(watch, command.out / "training" / FOLDER)


def settle(command: TrainTranslator, arguments: list[str], pairs: int) -> TrainTranslator:
    """Read the options again with the defaults that fit the data, and fill in what follows from them."""
    from qkv.training.distributed import processes_for

    command = parse(arguments, default_command(find_recipe(command.recipe)(pairs)))
    settings, given = command.settings, names_in(arguments)
    if "--minutes" in given and "--steps" not in given:
        settings = replace(settings, steps=None)
    check_settings(settings)
    training = settings.training
    if settings.steps is not None and "--training.validate-every" not in given:
        training = replace(training, validate_every=max(1, min(training.validate_every, settings.steps // 4)))
    again = command.files.can_be_read_again()
    if under_torchrun():
        if not again:
            raise UserError(
                "under torchrun every process reads the data: give files or a folder, not a pipe."
            )
        if "--training.processes" in given:
            raise UserError("torchrun says how many processes there are: leave out --training.processes.")
    processes = processes_for(training.processes, training.batch_tokens) if again else 1
    return with_training(replace(command, settings=settings), replace(training, processes=processes))


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """A Ctrl-C outside the steps, while a vocabulary is learned or a report made, says how to go on as well."""
    from qkv.cli.terminal import say

    try:
        yield
    except KeyboardInterrupt:
        if run_file(out).exists():
            say(f"stopped; to go on: {resume_command(out)}")
        raise


def resume_command(out: Path) -> str:
    return f"{program()} train translator --resume --out {shlex.quote(str(out))}"


def names_in(arguments: list[str]) -> set[str]:
    """The names of the options that were given, without values."""
    given = [argument.split("=", 1)[0] for argument in arguments if argument.startswith("--")]
    return {name.replace("_", "-") for name in given}  # both spellings are accepted


def summarise(report: dict[str, Any], out: Path) -> None:
    from qkv.cli.terminal import say

    training, validation = report["training"], report["validation"]
    say(
        f"{training['steps']:,} steps in {training['minutes']} minutes, {training['tokens_per_second']:,} tokens/s; "
        f"kept the {training['weights']}"
    )
    say(
        f"on {validation['sentences']:,} held-out pairs: BLEU {validation['bleu']['value']:.1f}, "
        f"chrF {validation['chrf']['value']:.1f}, exact match {validation['exact_match']:.1f} %"
    )
    show_tests(report)
    draw_learning_curve(out)
    say(f'the model is in {out}: try  {program()} translate {shlex.quote(str(out))} "…"')


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


def show_tests(report: dict[str, Any]) -> None:
    """What was reached on the test parts, with the published figure for the same part beside it."""
    from rich.table import Table

    from qkv.cli.terminal import err, escaped, say
    from qkv.evaluation.overlap import without_them

    if not report["tests"]:
        return
    table = Table("test part", "model", "parameters", "BLEU", "chrF", title="")
    for name, test in report["tests"].items():
        own = (f"{report['parameters']:,}", f"{test['bleu']['value']:.2f}", f"{test['chrf']['value']:.2f}")
        table.add_row(escaped(name), "this one", *own)
        for row in published_rows(report, name):
            table.add_row(escaped(name), row.model, row.parameters, row.bleu, "")
    err.print(table)
    test = next(iter(report["tests"].values()))
    say(f"beam {test['beam']}, length penalty {test['length_penalty']:g}; {test['bleu']['signature']}")
    for name, test in report["tests"].items():
        overlap = test["overlap"]
        if overlap["sentences"]:
            without = overlap["scores_without"]
            rest = without_them(None if without is None else without["bleu"]["value"])
            count = f"{overlap['sentences']:,} of {test['sentences']:,} sentences of {name}"
            say(f"{count} occur in the training data; {rest}")
