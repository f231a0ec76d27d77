"""`qkv train gpt --fine-tune MODEL --labels FILE`: a language model becomes a classifier."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from qkv.cli import program, training
from qkv.cli.training import TrainCommand
from qkv.errors import UserError
from qkv.families.gpt.commands.fine_tune import DECIDED, NOMINAL_WIDTH
from qkv.families.gpt.commands.train import summarise
from qkv.families.gpt.settings import FineTuneSettings, check_fine_tuning, fine_tuning, for_width
from qkv.families.translator.commands.files import OptionalFile

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.families.gpt.classifier import GPTClassifier
    from qkv.families.gpt.labels_task import Labels
    from qkv.training.runs import Outcome


@dataclass(frozen=True, kw_only=True)
class LabelFiles:
    fine_tune: Annotated[Path | None, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")] = None
    """A language model that `qkv train gpt` has made: its weights are where this begins."""
    labels: OptionalFile = None
    """Texts with labels, tab-separated: text, label; or two texts, label. With --form choice: text, answers, number of
    the right one."""
    valid_labels: OptionalFile = None
    """Examples to validate on; held out of the labels where none are given."""
    columns: str = ""
    """Columns of the files: text,label or text,second,label, by names or by numbers from 1."""

    def stored(self) -> dict[str, Any]:
        """For a run that may be resumed from another folder."""
        return {
            name: str(value.resolve()) if isinstance(value, Path) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> LabelFiles:
        paths = {name: Path(value) if value else None for name, value in stored.items() if name != "columns"}
        return cls(columns=stored["columns"], **paths)

    def can_be_read_again(self) -> bool:
        """Not a pipe, which only the first process could read."""
        return all(path is None or path.is_file() for path in (self.labels, self.valid_labels))


Command = TrainCommand[LabelFiles, FineTuneSettings]


class FineTuneKind:
    name: ClassVar = "gpt"
    command: ClassVar = Command
    files: ClassVar = LabelFiles
    settings: ClassVar = FineTuneSettings
    recipes: ClassVar[Any] = for_width(fine_tuning, NOMINAL_WIDTH)
    nominal: ClassVar = 10_000
    amount: ClassVar = "examples"
    summary: ClassVar = (
        "Fine-tune a language model for a task with labels, for example\n"
        "  qkv train gpt --fine-tune runs/book --labels reviews.tsv --out runs/reviews\n"
        "(--fine-tune --text --help and --fine-tune --music --help are about going on with text and music.)"
    )

    def from_stored(self, stored: dict[str, Any]) -> LabelFiles:
        return LabelFiles.from_stored(stored)

    def check(self, settings: FineTuneSettings) -> None:
        check_fine_tuning(settings)

    def begun_with(self, names: set[str]) -> bool:
        return "--labels" in names

    def read(self, command: Command) -> Labels:
        from qkv.cli.terminal import say
        from qkv.families.gpt.labels_task import read_labels

        files = command.files
        if files.fine_tune is None or files.labels is None:
            raise UserError("give both --fine-tune with a model and --labels with a file.")
        return read_labels(files.labels, files.valid_labels, files.columns, command.settings, say)

    def size(self, read: Labels) -> int:
        return len(read.train)

    def prepare(self, command: Command, read: Labels) -> Labels:
        from qkv.cli.terminal import say

        say(
            f"{len(read.train):,} examples to train on, {len(read.valid):,} to validate on; read as {read.form}"
        )
        return read

    def display(self, prepared: Labels) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay(counted="examples")

    def train(
        self, command: Command, prepared: Labels, arguments: list[str], **how: Any
    ) -> Outcome[GPTClassifier]:
        from qkv.families.gpt.labels_task import fine_tune

        if command.files.fine_tune is None:
            raise UserError("give --fine-tune with a model.")
        return fine_tune(prepared, command.files.fine_tune, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say
        from qkv.families.gpt.classifier import READS
        from qkv.runtime.predictions import EXAMPLES

        summarise(report, out)
        texts = EXAMPLES[READS[report["data"]["form"]]]
        say(f"the model is in {out}: try  {program()} classify {shlex.quote(str(out))} {texts}")


def kind_for(base: str | None) -> training.Kind:
    """The defaults follow the model."""
    if base is None:  # a run that is resumed has its settings
        return FineTuneKind()
    from qkv.families.gpt.labels_task import language_model_in

    width = language_model_in(Path(base)).model.config.stack.width

    class ForThis(FineTuneKind):
        recipes: ClassVar[Any] = for_width(fine_tuning, width)

    return ForThis()


def main(arguments: list[str]) -> None:
    training.fine_tune(kind_for, arguments, *DECIDED)
