"""`qkv train translator`: from the user's files to a bundle."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from qkv.cli import is_helper
from qkv.configs import from_dict
from qkv.errors import UserError
from qkv.training.recipes import RECIPES, find_recipe
from qkv.training.settings import TranslatorSettings, check_settings

if TYPE_CHECKING:
    from qkv.data.parallel import ParallelText
    from qkv.pipeline import Languages

NOMINAL_PAIRS = 30_000  # the amount of data for which --help shows the automatic settings


@dataclass(frozen=True, kw_only=True)
class Files:
    source: Path | None = None
    """Text to translate from, one sentence per line."""
    target: Path | None = None
    """Its translation, line by line."""
    pairs: Path | None = None
    """One file that holds both sides instead: .tsv, .jsonl, .tmx or .po."""
    valid_source: Path | None = None
    """Sentences to validate on; held out of the training data where none are given."""
    valid_target: Path | None = None
    """Their translation."""
    valid_pairs: Path | None = None
    """Both sides of the validation part in one file."""
    source_language: str | None = None
    """Such as en; otherwise read off the file's name."""
    target_language: str | None = None
    """Such as de; otherwise read off the file's name."""


@dataclass(frozen=True, kw_only=True)
class TrainTranslator:
    files: Annotated[Files, tyro.conf.arg(name="")]
    out: Path
    """Folder for the model; it must not hold one yet."""
    recipe: str = "automatic"
    """Settings with a name; automatic fits them to the amount of data."""
    resume: bool = False
    """Go on with the run in --out, which remembers all other options."""
    settings: Annotated[TranslatorSettings, tyro.conf.arg(name="")]


def main(arguments: list[str]) -> None:
    if "--resume" in arguments:
        train(parse_resumed(arguments), arguments)
    else:
        recipe = find_recipe(option(arguments, "--recipe") or "automatic")
        # The first reading finds misspelt options before any work is done; the data decide the rest.
        command = parse(arguments, default_command(recipe(NOMINAL_PAIRS)))
        train(command, arguments)


def parse(arguments: list[str], default: TrainTranslator) -> TrainTranslator:
    return tyro.cli(
        TrainTranslator,
        args=arguments,
        prog="qkv train translator",
        default=default,
        description=description(),
        config=(tyro.conf.FlagCreatePairsOff,),
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
        f"Recipes:\n{recipes}"
    )


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option before the rest is parsed, or None."""
    for index, argument in enumerate(arguments):
        if argument == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith(f"{name}="):
            return argument.removeprefix(f"{name}=")
    return None


def parse_resumed(arguments: list[str]) -> TrainTranslator:
    """All options come from the run itself. One that is given again must be what it was."""
    from qkv.checkpoint.files import read_json

    out = option(arguments, "--out")
    if out is None:
        raise UserError("--resume needs the folder of the run: qkv train translator --resume --out DIR.")
    run_file = Path(out) / "training" / "run.json"
    if not run_file.is_file():
        raise UserError(f"{out} holds no training run to resume.")
    stored = read_json(run_file)
    if "files" not in stored:
        raise UserError(f"the run in {out} was made by `qkv demo`, which is short: run it again.")
    where = str(run_file)
    paths = {
        k: None if v is None else Path(v) for k, v in stored["files"].items() if not k.endswith("language")
    }
    before = TrainTranslator(
        files=Files(**{**stored["files"], **paths}),
        out=Path(out),
        recipe=stored["recipe"],
        resume=True,
        settings=from_dict(TranslatorSettings, stored["settings"], where),
    )
    command = parse([each for each in arguments if each != "--resume"], replace(before, resume=False))
    changed = sorted(changes(comparable(before), comparable(command)))
    if changed:
        raise UserError(f"a resumed run keeps its options, but these differ: {', '.join(changed)}.")
    return before


def comparable(command: TrainTranslator) -> dict[str, Any]:
    """A file is the same one by whatever path it is given."""
    return {**asdict(replace(command, resume=False)), "files": stored_files(command.files)}


def changes(before: dict[str, Any], after: dict[str, Any], prefix: str = "") -> list[str]:
    """The dotted names of the values that differ."""
    found = []
    for name, value in before.items():
        if isinstance(value, dict):
            inner = "" if name in ("files", "settings") else f"{prefix}{name}."
            found += changes(value, after[name], inner)
        elif value != after[name]:
            found.append(f"--{prefix}{name}".replace("_", "-"))
    return found


def train(command: TrainTranslator, arguments: list[str]) -> None:
    from qkv.cli.terminal import TrainingDisplay, say
    from qkv.training.corpus import prepare_corpus
    from qkv.training.distributed import helpers, processes_for
    from qkv.training.translator import refuse_to_overwrite, train_translator

    if not command.resume and not is_helper():
        refuse_to_overwrite(command.out)
    pairs, valid, languages, origin = read_files(command.files)
    if not command.resume:
        recipe = find_recipe(command.recipe)
        command = parse(arguments, default_command(recipe(len(pairs))))
        if "--minutes" in joined(arguments) and "--steps" not in joined(arguments):
            command = replace(command, settings=replace(command.settings, steps=None))
    settings = command.settings
    check_settings(settings)
    processes = processes_for(settings.training.processes, settings.training.batch_tokens)
    settings = replace(settings, training=replace(settings.training, processes=processes))
    with helpers(["train", "translator", *arguments], processes):
        corpus = prepare_corpus(pairs, valid, languages, settings.data, settings.seed, origin)
        counts = ", ".join(f"{count:,} {reason}" for reason, count in corpus.dropped.items())
        say(f"{len(pairs):,} pairs read; dropped: {counts}")
        say(f"{len(corpus.train):,} to train on, {len(corpus.valid):,} to validate on")
        example = min(corpus.valid.source[:50], key=lambda text: abs(len(text) - 40))
        with TrainingDisplay(example) as display:
            outcome = train_translator(
                corpus,
                settings,
                command.out,
                watch=display.watch,
                resume=command.resume,
                exact_vocabulary="--vocabulary" in joined(arguments),
                remember={"files": stored_files(command.files), "recipe": command.recipe},
            )
    if is_helper():
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        again = f"qkv train translator --resume --out {shlex.quote(str(command.out))}"
        say(f"stopped and saved; to go on: {again}")
        sys.exit(outcome.exit_code)
    summarise(outcome.report, command.out)


def joined(arguments: list[str]) -> set[str]:
    """The names of the options that were given, without values."""
    return {argument.split("=", 1)[0] for argument in arguments if argument.startswith("--")}


def stored_files(files: Files) -> dict[str, str | None]:
    """Paths as they will be found from anywhere."""
    return {k: str(v.resolve()) if isinstance(v, Path) else v for k, v in asdict(files).items()}


def read_files(files: Files) -> tuple[ParallelText, ParallelText | None, Languages, str]:
    from qkv.data.parallel import read_pairs, read_two
    from qkv.pipeline import Languages

    source, target = files.source_language, files.target_language
    if files.pairs is not None and files.source is None and files.target is None:
        pairs = read_pairs(files.pairs, source_language=source, target_language=target)
        origin = files.pairs.name
    elif files.source is not None and files.target is not None and files.pairs is None:
        pairs = read_two(files.source, files.target)
        origin = f"{files.source.name} and {files.target.name}"
        source, target = source or language_of(files.source), target or language_of(files.target)
    else:
        raise UserError("give the training data: either --source and --target, or --pairs.")
    valid = None
    if files.valid_pairs is not None:
        valid = read_pairs(files.valid_pairs, source_language=source, target_language=target)
    elif files.valid_source is not None and files.valid_target is not None:
        valid = read_two(files.valid_source, files.valid_target)
    elif files.valid_source is not None or files.valid_target is not None:
        raise UserError("--valid-source and --valid-target go together.")
    return pairs, valid, Languages(source=source or "source", target=target or "target"), origin


def language_of(path: Path) -> str | None:
    """`train.en` and `train.en.txt` are English."""
    for ending in reversed(path.name.lower().removesuffix(".gz").removesuffix(".txt").split(".")[1:]):
        if 2 <= len(ending) <= 3 and ending.isalpha():
            return ending
    return None


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
    say(f'the model is in {out}: try  qkv translate {shlex.quote(str(out))} "…"')
