"""`qkv train gpt`: a language model from text or from music, or one that was trained before and learns more."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from qkv.cli import program, training
from qkv.cli.training import (
    TrainCommand,
    draw_learning_curve,
    names_in,
    names_in_run,
    option,
    say_how_it_went,
)
from qkv.errors import UserError
from qkv.families.gpt.settings import (
    MUSIC_RECIPES,
    RECIPES,
    FineTuneTextSettings,
    GPTSettings,
    MusicSettings,
    check_gpt,
    check_music,
)

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.data.chorales import Music
    from qkv.data.documents import Documents
    from qkv.families.gpt.product import Generator
    from qkv.families.gpt.task import MusicMaterial, TextMaterial, TextPassages
    from qkv.training.runs import Outcome

SomeFiles = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]
SHOWN = 60  # characters of an example


class StoredPaths:
    """Files that are given as several paths each."""

    def paths(self) -> dict[str, tuple[Path, ...]]:
        return dict(vars(self))

    def stored(self) -> dict[str, Any]:
        """For a run that may be resumed from another folder."""
        return {name: [str(path.resolve()) for path in paths] for name, paths in self.paths().items()}

    def can_be_read_again(self) -> bool:
        """Not a pipe, which only the first process could read."""
        return all(path.is_file() for paths in self.paths().values() for path in paths)


@dataclass(frozen=True, kw_only=True)
class TextFiles(StoredPaths):
    text: SomeFiles = ()
    """Text to learn from: each file is a document, or of .jsonl each line with its "text". Without any, the source of
    Python's standard library."""
    valid_text: SomeFiles = ()
    """Text to validate on; held out of the training text where none is given."""


@dataclass(frozen=True, kw_only=True)
class MusicFiles(StoredPaths):
    music: SomeFiles = ()
    """Chorales as .json with train, valid and test, or MIDI files."""


Command = TrainCommand[Any, Any]  # those who fine-tune have other files and settings


def from_stored(kind: Any, stored: dict[str, list[str]]) -> Any:
    return kind(**{name: tuple(map(Path, paths)) for name, paths in stored.items()})


class TextKind:
    name: ClassVar = "gpt"
    command: ClassVar[Any] = TrainCommand[TextFiles, GPTSettings]
    files: ClassVar[Any] = TextFiles
    settings: ClassVar[Any] = GPTSettings
    recipes: ClassVar[Any] = RECIPES
    nominal: ClassVar = 1_000_000
    amount: ClassVar = "characters"
    summary: ClassVar = (
        "Train a language model on text (subwords, or --pieces characters), for example\n"
        "  qkv train gpt --text book.txt --out runs/book\n\n"
        "or on music:\n"
        "  qkv train gpt --music chorales.json --out runs/chorales      (--music --help for its options)\n\n"
        "One that is there already, trained or imported, goes on with your text or music:\n"
        "  qkv train gpt --fine-tune runs/book --text mine.txt --out runs/mine     (--fine-tune --text --help)\n\n"
        "or is fine-tuned for a task with labels:\n"
        "  qkv train gpt --fine-tune runs/book --labels reviews.tsv --out runs/reviews     (--fine-tune --help)"
    )

    def from_stored(self, stored: dict[str, Any]) -> TextFiles:
        files: TextFiles = from_stored(TextFiles, stored)
        return files

    def check(self, settings: Any) -> None:
        check_gpt(settings)

    def begun_with(self, names: set[str]) -> bool:
        """There is text on every machine, but a run that is resumed may be misspelt."""
        return bool(names - training.OF_ANY_RESUMED)

    def read(self, command: Command) -> tuple[Documents, Documents | None]:
        from qkv.cli.terminal import say
        from qkv.data.documents import python_source, read_documents

        files = command.files
        if files.valid_text and not files.text:
            raise UserError("--valid-text needs --text: give the text to learn from as well.")
        if not files.text:
            say("no --text: learning from the source of Python's standard library")
        text = read_documents(files.text) if files.text else python_source()
        return text, read_documents(files.valid_text) if files.valid_text else None

    def size(self, read: tuple[Documents, Documents | None]) -> int:
        return read[0].characters

    def prepare(self, command: Command, read: tuple[Documents, Documents | None]) -> TextPassages:
        from qkv.families.gpt.task import TextMaterial

        return TextMaterial(*parted(read, command.settings), command.settings)

    def display(self, prepared: TextPassages) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        lines = [line for line in prepared.valid.texts[0].splitlines() if line.strip()]
        prompt = next((line for line in lines if len(line.split()) > 1), lines[0])[:SHOWN]
        return TrainingDisplay(
            f"How it goes on after   {prompt}", lambda generator: example(generator, prompt)
        )

    def train(
        self, command: Command, prepared: TextMaterial, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.families.gpt.task import train_gpt

        return train_gpt(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(f'the model is in {out}: try  {program()} generate {shlex.quote(str(out))} "…"')


class MusicKind:
    name: ClassVar = "gpt"
    command: ClassVar[Any] = TrainCommand[MusicFiles, MusicSettings]
    files: ClassVar[Any] = MusicFiles
    settings: ClassVar[Any] = MusicSettings
    recipes: ClassVar[Any] = MUSIC_RECIPES
    nominal: ClassVar = 50_000
    amount: ClassVar = "frames"
    summary: ClassVar = (
        "Train a language model on music in four voices, for example\n"
        "  qkv train gpt --music chorales.json --out runs/chorales"
    )

    def from_stored(self, stored: dict[str, Any]) -> MusicFiles:
        files: MusicFiles = from_stored(MusicFiles, stored)
        return files

    def check(self, settings: Any) -> None:
        check_music(settings)

    def begun_with(self, names: set[str]) -> bool:
        return "--music" in names

    def read(self, command: Command) -> Music:
        from qkv.cli.terminal import say
        from qkv.data.chorales import read_music

        return read_music(command.files.music, command.settings.seed, say)

    def size(self, read: Music) -> int:
        return sum(map(len, read.train))

    def prepare(self, command: Command, read: Music) -> MusicMaterial:
        from qkv.cli.terminal import say
        from qkv.families.gpt.task import MusicMaterial

        say(f"{len(read.train):,} pieces of music to train on, {len(read.valid):,} to validate on")
        return MusicMaterial(read, command.settings)

    def display(self, prepared: MusicMaterial) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay()

    def train(
        self, command: Command, prepared: MusicMaterial, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.families.gpt.task import train_gpt

        return train_gpt(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(
            f"the model is in {out}: try  {program()} generate {shlex.quote(str(out))} -o music.mid --tokens 1024"
        )


def main(arguments: list[str]) -> None:
    """What is trained is told by the options, or by the run that is resumed."""
    helps = bool({"-h", "--help"} & set(arguments))
    if not helps:
        check_files_are_named(arguments)
    named = names_in(arguments) | names_in_run(arguments)
    kind: training.Kind = MusicKind() if "--music" in named else TextKind()
    if "--fine-tune" in named:
        wanted = learned_from(named, helps=helps)
        if wanted == "--labels":
            from qkv.families.gpt.commands.labels import main as learn_task

            learn_task(arguments)
        else:
            from qkv.families.gpt.commands.fine_tune import main as go_on

            go_on(arguments, music=wanted == "--music")
        return
    if helps:  # an option that chooses the kind may stand there without its value
        recipe = option(arguments, "--recipe")
        arguments = ["--help", *([] if recipe is None else ["--recipe", recipe])]
    else:
        check_together(named)
    training.main(kind, arguments)


def check_files_are_named(arguments: list[str]) -> None:
    """Options that take any number of files would take none, as from a pattern that matched nothing."""
    for name in sorted({"--text", "--valid-text", "--music"} & names_in(arguments)):
        if (option(arguments, name) or "--").startswith("--"):
            raise UserError(f"{name} names no file: give one at least, or leave the option out.")


def learned_from(named: set[str], *, helps: bool) -> str:
    """What a model that was trained before learns from now."""
    given = [each for each in ("--text", "--music", "--labels") if each in named]
    if len(given) > 1:
        raise UserError(
            f"with --fine-tune a model learns from one kind of data: give one of {', '.join(given)}."
        )
    for beside, wanted in (("--valid-text", "--text"), ("--valid-labels", "--labels")):
        if beside in named and wanted not in given:
            raise UserError(f"{beside} belongs to {wanted}: give both, or neither.")
    if not given and not helps:
        raise UserError(
            "say what the model shall learn from: --text or --music to go on with what it does, --labels for a task."
        )
    return given[0] if given else "--labels"


def check_together(named: set[str]) -> None:
    """What one kind does not know would be called an option that there is not."""
    if {"--labels", "--valid-labels"} & named and "--fine-tune" not in named:
        raise UserError("--labels is for fine-tuning: say which model to begin with, by --fine-tune MODEL.")
    if "--music" in named and {"--text", "--valid-text"} & named:
        raise UserError("a model learns from text or from music: give --text or --music, one of both.")


def parted(
    read: tuple[Documents, Documents | None], settings: GPTSettings | FineTuneTextSettings
) -> tuple[Documents, Documents]:
    """To train on and to validate on."""
    from qkv.cli.terminal import say
    from qkv.data.documents import hold_out_text

    train, valid = read
    if valid is None:
        share = min(settings.data.valid, settings.data.most_valid / max(1, train.characters))
        train, valid = hold_out_text(train, share, settings.seed)
    say(
        f"{train.characters:,} characters in {len(train):,} documents to train on, "
        f"{valid.characters:,} to validate on"
    )
    return train, valid


def example(generator: Generator, prompt: str) -> str:
    from qkv.families.gpt.product import Generation

    return generator.generate(prompt, Generation(tokens=SHOWN))


def summarise(report: dict[str, Any], out: Path) -> None:
    from qkv.cli.terminal import say

    say_how_it_went(report)
    for name, value in report["results"].items():
        say(f"{name}: {value}")
    draw_learning_curve(out)
