"""`qkv train bert`: a BERT from documents, or one that was trained or imported before, fine-tuned on labels."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program, training
from qkv.cli.training import TrainCommand, names_in, names_in_run
from qkv.errors import UserError
from qkv.families.bert.settings import RECIPES, BertSettings, check_bert
from qkv.families.gpt.commands.train import SomeFiles, StoredPaths, from_stored, summarise

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.data.sentences import Prose
    from qkv.families.bert.product import Bert
    from qkv.families.bert.task import Reading
    from qkv.training.runs import Outcome

SHOWN = (4, 12)  # words of a sentence that is shown with one of them hidden


@dataclass(frozen=True, kw_only=True)
class ProseFiles(StoredPaths):
    text: SomeFiles = ()
    """Text to learn from: a blank line ends a document, and lines are sentences where they end like ones. Without any,
    the help texts and docstrings of Python's standard library."""
    valid_text: SomeFiles = ()
    """Text to validate on; held out of the training text where none is given."""


Command = TrainCommand[ProseFiles, BertSettings]


class BertKind:
    name: ClassVar = "bert"
    command: ClassVar = Command
    files: ClassVar = ProseFiles
    settings: ClassVar = BertSettings
    recipes: ClassVar = RECIPES
    nominal: ClassVar = 1_000_000
    amount: ClassVar = "characters"
    summary: ClassVar = (
        "Train a BERT on text: hidden words, and whether one part of text follows another, for example\n"
        "  qkv train bert --text book.txt --out runs/book\n"
        "or fine-tune one on texts with labels:\n"
        "  qkv train bert --fine-tune runs/book --labels reviews.tsv --out runs/reviews     (--fine-tune --help)"
    )

    def from_stored(self, stored: dict[str, Any]) -> ProseFiles:
        files: ProseFiles = from_stored(ProseFiles, stored)
        return files

    def check(self, settings: BertSettings) -> None:
        check_bert(settings)

    def begun_with(self, names: set[str]) -> bool:
        """There is text on every machine, but a run that is resumed may be misspelt."""
        return bool(names - training.OF_ANY_RESUMED)

    def read(self, command: Command) -> tuple[Prose, Prose | None]:
        from qkv.cli.terminal import say
        from qkv.data.sentences import python_prose, read_prose

        files = command.files
        if files.valid_text and not files.text:
            raise UserError("--valid-text needs --text: give the text to learn from as well.")
        if not files.text:
            say("no --text: learning from the help texts and docstrings of Python's standard library")
        text = read_prose(files.text) if files.text else python_prose()
        return text, read_prose(files.valid_text) if files.valid_text else None

    def size(self, read: tuple[Prose, Prose | None]) -> int:
        return read[0].characters

    def prepare(self, command: Command, read: tuple[Prose, Prose | None]) -> Reading:
        from qkv.cli.terminal import say
        from qkv.data.sentences import hold_out_prose
        from qkv.families.bert.task import Reading, refuse_without_next

        (train, valid), settings = read, command.settings
        if settings.next_sentence:
            refuse_without_next(train)
        if valid is None:
            train, valid = hold_out_prose(train, settings.data.valid, settings.seed)
        say(
            f"{train.sentences:,} sentences in {len(train.documents):,} documents to train on, "
            f"{valid.sentences:,} to validate on"
        )
        return Reading(train=train, valid=valid)

    def display(self, prepared: Reading) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay
        from qkv.data.sentences import all_sentences

        fewest, most = SHOWN
        words = next(
            (words for s in all_sentences(prepared.valid) if fewest <= len(words := s.split()) <= most), None
        )
        if words is None:
            return TrainingDisplay()
        hidden = " ".join([*words[: len(words) // 2], "[MASK]", *words[len(words) // 2 + 1 :]])
        return TrainingDisplay(f"What it puts for [MASK] in   {hidden}", lambda bert: guesses(bert, hidden))

    def train(self, command: Command, prepared: Reading, arguments: list[str], **how: Any) -> Outcome[Bert]:
        from qkv.families.bert.task import train_bert

        return train_bert(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(f'the model is in {out}: try  {program()} fill {shlex.quote(str(out))} "… [MASK] …"')


def guesses(bert: Bert, text: str) -> str:
    try:
        return ", ".join(f"{guess.word} {guess.probability:.2f}" for guess in bert.fill(text, 4)[0])
    except UserError:  # longer than what it reads
        return ""


def main(arguments: list[str]) -> None:
    kind = kind_of(arguments)
    if {"-h", "--help"} & set(arguments):  # `--fine-tune --help` names no folder
        arguments = ["--help"]
    training.main(kind, arguments)


def kind_of(arguments: list[str]) -> training.Kind:
    """What is trained is told by the options, or by the run that is resumed."""
    if {"--fine-tune", "--labels"} & (names_in(arguments) | names_in_run(arguments)):
        from qkv.families.bert.commands.labels import BertLabelKind

        return BertLabelKind()
    return BertKind()
