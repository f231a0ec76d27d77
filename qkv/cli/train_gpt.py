"""`qkv train gpt`: a language model from text or from music, or one that was trained before, fine-tuned for a task."""

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
from qkv.training.gpt_settings import (
    MUSIC_RECIPES,
    RECIPES,
    GPTSettings,
    MusicSettings,
    check_gpt,
    check_music,
)

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.data.chorales import Music
    from qkv.data.documents import Documents
    from qkv.pipeline.generator import Generator
    from qkv.training.gpt import MusicMaterial, TextMaterial
    from qkv.training.runs import Outcome

SomeFiles = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]
SHOWN = 60  # characters of an example


class StoredPaths:
    """Files that are given as several paths each."""

    def stored(self) -> dict[str, Any]:
        """For a run that may be resumed from another folder."""
        return {name: [str(path.resolve()) for path in paths] for name, paths in vars(self).items()}

    def can_be_read_again(self) -> bool:
        """Not a pipe, which only the first process could read."""
        return all(path.is_file() for paths in vars(self).values() for path in paths)


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


TextCommand = TrainCommand[TextFiles, GPTSettings]
MusicCommand = TrainCommand[MusicFiles, MusicSettings]


def from_stored(kind: Any, stored: dict[str, list[str]]) -> Any:
    return kind(**{name: tuple(map(Path, paths)) for name, paths in stored.items()})


class TextKind:
    name: ClassVar = "gpt"
    command: ClassVar = TextCommand
    files: ClassVar = TextFiles
    settings: ClassVar = GPTSettings
    recipes: ClassVar = RECIPES
    nominal: ClassVar = 1_000_000
    amount: ClassVar = "characters"
    summary: ClassVar = (
        "Train a language model on text (subwords, or --pieces characters), for example\n"
        "  qkv train gpt --text book.txt --out runs/book\n"
        "or on music:\n"
        "  qkv train gpt --music chorales.json --out runs/chorales      (--music --help for its options)\n"
        "or fine-tune one for a task with labels:\n"
        "  qkv train gpt --fine-tune runs/book --labels reviews.tsv --out runs/reviews     (--fine-tune --help)"
    )

    def from_stored(self, stored: dict[str, Any]) -> TextFiles:
        files: TextFiles = from_stored(TextFiles, stored)
        return files

    def check(self, settings: GPTSettings) -> None:
        check_gpt(settings)

    def begun_with(self, names: set[str]) -> bool:
        """There is text on every machine, but a folder's name alone may be misspelt."""
        return bool(names - {"--resume", "--out"})

    def read(self, command: TextCommand) -> tuple[Documents, Documents | None]:
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

    def prepare(self, command: TextCommand, read: tuple[Documents, Documents | None]) -> TextMaterial:
        from qkv.cli.terminal import say
        from qkv.data.documents import hold_out_text
        from qkv.training.gpt import TextMaterial

        (train, valid), settings = read, command.settings
        if valid is None:
            share = min(settings.data.valid, settings.data.most_valid / max(1, train.characters))
            train, valid = hold_out_text(train, share, settings.seed)
        say(
            f"{train.characters:,} characters in {len(train):,} documents to train on, "
            f"{valid.characters:,} to validate on"
        )
        return TextMaterial(train, valid, settings)

    def display(self, prepared: TextMaterial) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        prompt = next(line for line in prepared.valid.texts[0].splitlines() if line.strip())[:SHOWN]
        return TrainingDisplay(
            f"How it goes on after   {prompt}", lambda generator: example(generator, prompt)
        )

    def train(
        self, command: TextCommand, prepared: TextMaterial, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.training.gpt import train_gpt

        return train_gpt(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(f'the model is in {out}: try  {program()} generate {shlex.quote(str(out))} "…"')


class MusicKind:
    name: ClassVar = "gpt"
    command: ClassVar = MusicCommand
    files: ClassVar = MusicFiles
    settings: ClassVar = MusicSettings
    recipes: ClassVar = MUSIC_RECIPES
    nominal: ClassVar = 50_000
    amount: ClassVar = "frames"
    summary: ClassVar = (
        "Train a language model on music in four voices, for example\n"
        "  qkv train gpt --music chorales.json --out runs/chorales"
    )

    def from_stored(self, stored: dict[str, Any]) -> MusicFiles:
        files: MusicFiles = from_stored(MusicFiles, stored)
        return files

    def check(self, settings: MusicSettings) -> None:
        check_music(settings)

    def begun_with(self, names: set[str]) -> bool:
        return "--music" in names

    def read(self, command: MusicCommand) -> Music:
        from qkv.cli.terminal import say
        from qkv.data.chorales import read_music

        return read_music(command.files.music, command.settings.seed, say)

    def size(self, read: Music) -> int:
        return sum(map(len, read.train))

    def prepare(self, command: MusicCommand, read: Music) -> MusicMaterial:
        from qkv.cli.terminal import say
        from qkv.training.gpt import MusicMaterial

        say(f"{len(read.train):,} pieces of music to train on, {len(read.valid):,} to validate on")
        return MusicMaterial(read, command.settings)

    def display(self, prepared: MusicMaterial) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay()

    def train(
        self, command: MusicCommand, prepared: MusicMaterial, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.training.gpt import train_gpt

        return train_gpt(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(
            f"the model is in {out}: try  {program()} generate {shlex.quote(str(out))} -o music.mid --tokens 1024"
        )


def main(arguments: list[str]) -> None:
    kind = kind_of(arguments)
    if {"-h", "--help"} & set(arguments):  # an option that chooses the kind may stand there without its value
        recipe = option(arguments, "--recipe")
        arguments = ["--help", *([] if recipe is None else ["--recipe", recipe])]
    else:
        check_together(names_in(arguments) | names_in_run(arguments))
    training.main(kind, arguments)


def check_together(named: set[str]) -> None:
    """What one kind does not know would be called an option that there is not."""
    if {"--labels", "--valid-labels"} & named and "--fine-tune" not in named:
        raise UserError("--labels is for fine-tuning: say which model to begin with, by --fine-tune MODEL.")
    if "--music" in named and {"--text", "--valid-text"} & named:
        raise UserError("a model learns from text or from music: give --text or --music, one of both.")


def kind_of(arguments: list[str]) -> training.Kind:
    """What is trained is told by the options, or by the run that is resumed."""
    named = names_in(arguments) | names_in_run(arguments)
    if "--fine-tune" in named:
        from qkv.cli.fine_tune import FineTuneKind

        return FineTuneKind()
    return MusicKind() if "--music" in named else TextKind()


def example(generator: Generator, prompt: str) -> str:
    from qkv.pipeline.generator import Generation

    return generator.generate(prompt, Generation(tokens=SHOWN))


def summarise(report: dict[str, Any], out: Path) -> None:
    from qkv.cli.terminal import say

    say_how_it_went(report)
    for name, value in report["results"].items():
        say(f"{name}: {value}")
    draw_learning_curve(out)
