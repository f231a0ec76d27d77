"""`qkv train bert --fine-tune`: a BERT that was trained or imported before learns from texts with labels."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program
from qkv.cli.training import TrainCommand
from qkv.errors import UserError
from qkv.families.bert.settings import FINE_TUNE_RECIPES, BertFineTuneSettings, check_bert_fine_tuning
from qkv.families.gpt.commands.train import summarise
from qkv.families.translator.commands.files import OptionalFile

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.data.labels import Labelled
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.bert.labels_task import Examples
    from qkv.training.runs import Outcome

SHOWN = 60  # characters of an example


@dataclass(frozen=True, kw_only=True)
class LabelFiles:
    fine_tune: OptionalFile = None
    """Folder of the BERT to fine-tune, as `qkv train bert` or `qkv import` has made it, or of one with labels already."""
    labels: OptionalFile = None
    """Texts with labels: text, tab, label; or two texts and a label. A line of names may say which column is which."""
    valid_labels: OptionalFile = None
    """Texts with labels to validate on; held out of --labels where none are given."""
    columns: str = ""
    """Columns of both files: text,label or text,second,label, by names or by numbers from 1; 6,7,5 for STS-B."""
    valid_columns: str = ""
    """Columns of --valid-labels, where they are others."""

    def stored(self) -> dict[str, Any]:
        """For a run that may be resumed from another folder."""
        return {
            name: str(value.resolve()) if isinstance(value, Path) else value
            for name, value in vars(self).items()
        }

    def can_be_read_again(self) -> bool:
        """Not a pipe, which only the first process could read."""
        return all(path is None or path.is_file() for path in (self.labels, self.valid_labels))


Command = TrainCommand[LabelFiles, BertFineTuneSettings]


class BertLabelKind:
    name: ClassVar = "bert"
    command: ClassVar = Command
    files: ClassVar = LabelFiles
    settings: ClassVar = BertFineTuneSettings
    recipes: ClassVar = FINE_TUNE_RECIPES
    nominal: ClassVar = 10_000
    amount: ClassVar = "examples"
    summary: ClassVar = (
        "Fine-tune a BERT on texts, or pairs of texts, with classes or numbers, for example\n"
        "  qkv train bert --fine-tune runs/book --labels reviews.tsv --out runs/reviews"
    )

    def from_stored(self, stored: dict[str, Any]) -> LabelFiles:
        words = ("columns", "valid_columns")
        return LabelFiles(**{n: v if n in words or v is None else Path(v) for n, v in stored.items()})  # type: ignore[arg-type]

    def check(self, settings: BertFineTuneSettings) -> None:
        check_bert_fine_tuning(settings)

    def begun_with(self, names: set[str]) -> bool:
        return "--labels" in names

    def read(self, command: Command) -> tuple[Labelled, Labelled | None]:
        from qkv.cli.terminal import say
        from qkv.data.labels import read_labelled

        files = command.files
        if files.fine_tune is None or files.labels is None:
            raise UserError("fine-tuning needs a model and examples: give --fine-tune and --labels.")
        train = read_labelled(files.labels, files.columns, say)
        if files.valid_labels is None:
            return train, None
        return train, read_labelled(files.valid_labels, files.valid_columns or files.columns, say)

    def size(self, read: tuple[Labelled, Labelled | None]) -> int:
        return len(read[0])

    def prepare(self, command: Command, read: tuple[Labelled, Labelled | None]) -> Examples:
        from qkv.cli.terminal import say
        from qkv.families.bert.labels_task import Examples

        examples = Examples.of(*read, command.settings)
        what = f"{len(examples.classes)} classes" if examples.classes else "numbers"
        say(
            f"{len(examples.train):,} examples to train on, {len(examples.valid):,} to validate on; labels are {what}"
        )
        return examples

    def display(self, prepared: Examples) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay(counted="examples")

    def train(
        self, command: Command, prepared: Examples, arguments: list[str], **how: Any
    ) -> Outcome[TextClassifier]:
        from qkv.families.bert.labels_task import fine_tune_bert

        base = command.files.fine_tune
        assert base is not None
        return fine_tune_bert(prepared, base, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        summarise(report, out)
        say(f'the model is in {out}: try  {program()} classify {shlex.quote(str(out))} "…"')
