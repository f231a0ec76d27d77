"""`qkv train translator`: from the user's files to a bundle."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program, training
from qkv.cli.training import (
    TrainCommand,
    draw_learning_curve,
    names_in,
    names_in_run,
    option,
    run_file,
    say_how_it_went,
)
from qkv.errors import UserError
from qkv.families.translator.advice import advice_after, advice_before
from qkv.families.translator.commands.files import Files, Given, read_files
from qkv.families.translator.recipes import RECIPES, RECURRENT_RECIPES, published_rows
from qkv.training.settings import WITHOUT_MEANING, TranslatorSettings, check_settings

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.families.translator.corpus import Corpus
    from qkv.families.translator.product import Translator
    from qkv.training.runs import Outcome


Command = TrainCommand[Any, Any]  # those who fine-tune have other files and settings
HOW_TO_FINE_TUNE = "`qkv import`, then --fine-tune"


class TranslatorKind:
    name: ClassVar = "translator"
    command: ClassVar[Any] = TrainCommand[Files, TranslatorSettings]
    files: ClassVar[Any] = Files
    settings: ClassVar[Any] = TranslatorSettings
    recipes: ClassVar[Any] = RECIPES
    nominal: ClassVar = 30_000
    amount: ClassVar = "pairs"
    from_scratch: ClassVar = True
    summary: ClassVar = (
        "Train a translator on your own sentence pairs, for example\n"
        "  qkv train translator --source a.en --target a.de --out runs/en-de\n\n"
        "With --model recurrent it is made of LSTMs with attention, as before the Transformer; the defaults follow.\n\n"
        "One that is there already, trained or imported, goes on with your pairs:\n"
        "  qkv train translator --fine-tune runs/opus --source a.en --target a.de --out runs/mine     (--fine-tune --help)"
    )

    def from_stored(self, stored: dict[str, Any]) -> Files:
        return Files.from_stored(stored)

    def check(self, settings: Any) -> None:
        check_settings(settings)

    def begun_with(self, names: set[str]) -> bool:
        return bool({"--source", "--target", "--pairs", "--data"} & names)

    def read(self, command: Command) -> Given:
        return read_files(command.files, command.settings.data)

    def size(self, read: Given) -> int:
        return len(read.pairs)

    def prepare(self, command: Command, read: Given) -> Corpus:
        from qkv.cli.terminal import advise, say

        corpus = corpus_of(command, read)
        counts = ", ".join(f"{count:,} {reason}" for reason, count in corpus.dropped.items())
        say(f"{len(read.pairs):,} pairs read; dropped: {counts}")
        say(f"{len(corpus.train):,} to train on, {len(corpus.valid):,} to validate on")
        if corpus.duplicates:
            say(f"{corpus.duplicates:,} of the training pairs are exact duplicates of others; they are kept")
        if corpus.shared:
            advise(
                f"{corpus.shared:,} of the {len(corpus.valid):,} validation pairs are in the training data too, so "
                "validation scores will be too high. Remove them from one of the two."
            )
        if self.from_scratch and (advice := advice_before(len(corpus.train))):
            advise(f"{advice} ({HOW_TO_FINE_TUNE}).")
        return corpus

    def display(self, prepared: Corpus) -> TrainingDisplay:
        example = min(prepared.valid.source[:50], key=lambda text: abs(len(text) - 40))
        return showing_a_translation(example)

    def train(
        self, command: Command, prepared: Corpus, arguments: list[str], **how: Any
    ) -> Outcome[Translator]:
        from qkv.families.translator.task import train_translator

        exact = "--vocabulary" in names_in(arguments)
        return train_translator(prepared, command.settings, command.out, exact_vocabulary=exact, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import advise, say

        validation = report["validation"]
        say_how_it_went(report)
        say(
            f"on {validation['sentences']:,} held-out pairs: BLEU {validation['bleu']['value']:.1f}, "
            f"chrF {validation['chrf']['value']:.1f}, exact match {validation['exact_match']:.1f} %"
        )
        pairs = report["data"]["pairs"]
        if self.from_scratch and (advice := advice_after(validation["bleu"]["value"], pairs)):
            advise(f"{advice} ({HOW_TO_FINE_TUNE}).")
        show_tests(report)
        draw_learning_curve(out)
        say(f'the model is in {out}: try  {program()} translate {shlex.quote(str(out))} "…"')


class RecurrentKind(TranslatorKind):
    recipes: ClassVar[Any] = RECURRENT_RECIPES


KINDS = {"transformer": TranslatorKind, "recurrent": RecurrentKind}


def main(arguments: list[str]) -> None:
    if "--fine-tune" in names_in(arguments) | names_in_run(arguments):
        from qkv.families.translator.commands.fine_tune import main as fine_tune

        fine_tune(arguments)
        return
    chosen = option(arguments, "--model") or option(arguments, "--model.kind") or "transformer"
    idle = sorted(WITHOUT_MEANING.get(chosen, frozenset()) & names_in(arguments))
    if idle:
        raise UserError(f"{' and '.join(idle)} mean nothing with --model {chosen}: leave them out.")
    kind = KINDS.get(chosen, TranslatorKind)  # what is no kind at all is told when the options are read
    training.main(kind(), arguments)


def corpus_of(command: Command, read: Given) -> Corpus:
    """Split as this version does it, or, for a run that an earlier one began, as that did."""
    from qkv.checkpoint.files import read_sealed
    from qkv.families.translator.corpus import prepare_corpus

    settings = command.settings
    given = (read.pairs, read.valid, read.languages, settings.data, settings.seed, read.origin, read.tests)
    if command.resume and read.valid is None:
        before = read_sealed(run_file(command.out))["data"]["validation data"]
        for repeated in (False, True):
            with suppress(UserError):  # data that cannot be split in one way may be split in the other
                corpus = prepare_corpus(*given, repeated=repeated)
                if corpus.valid.fingerprint() == before:
                    return corpus
    return prepare_corpus(*given)


def showing_a_translation(example: str) -> TrainingDisplay:
    """With what the model makes of a sentence at every validation."""
    from qkv.cli.terminal import TrainingDisplay

    return TrainingDisplay(
        f"What it makes of   {example}", lambda translator: str(translator.translate(example, beam=1))
    )


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
