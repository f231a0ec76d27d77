"""`qkv train translator --fine-tune MODEL`: a translator that was trained or imported before learns from more pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from qkv.cli import training
from qkv.cli.training import TrainCommand
from qkv.errors import UserError
from qkv.families.translator.commands.files import Files, Given
from qkv.families.translator.commands.train import TranslatorKind
from qkv.families.translator.recipes import FINE_TUNE_RECIPES
from qkv.training.settings import FineTuneTranslatorSettings, check_fine_tuning

if TYPE_CHECKING:
    from qkv.families.translator.corpus import Corpus
    from qkv.families.translator.product import Translator
    from qkv.training.runs import Outcome


@dataclass(frozen=True, kw_only=True)
class FilesAndModel(Files):
    fine_tune: Annotated[Path | None, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")] = None
    """Folder of the translator to go on from, as `qkv train translator` or `qkv import` has made it."""


Command = TrainCommand[FilesAndModel, FineTuneTranslatorSettings]


class FineTuneTranslatorKind(TranslatorKind):
    command: ClassVar[Any] = Command
    files: ClassVar[Any] = FilesAndModel
    settings: ClassVar[Any] = FineTuneTranslatorSettings
    recipes: ClassVar[Any] = FINE_TUNE_RECIPES
    from_scratch: ClassVar = False
    summary: ClassVar = (
        "Go on with a translator that was trained or imported before, on your own sentence pairs, for example\n"
        "  qkv train translator --fine-tune runs/opus --source a.en --target a.de --out runs/mine\n\n"
        "Its sizes, its vocabulary and the way it decodes stay as they are."
    )

    def from_stored(self, stored: dict[str, Any]) -> FilesAndModel:
        return FilesAndModel.from_stored(stored)

    def check(self, settings: FineTuneTranslatorSettings) -> None:
        check_fine_tuning(settings)

    def read(self, command: Command) -> Given:
        if command.files.fine_tune is None:
            raise UserError("give --fine-tune with the folder of a translator.")
        return super().read(command)

    def train(
        self, command: Command, prepared: Corpus, arguments: list[str], **how: Any
    ) -> Outcome[Translator]:
        from qkv.families.translator.fine_tuning import fine_tune_translator

        base = command.files.fine_tune
        assert base is not None
        return fine_tune_translator(prepared, base, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        before = report["fine_tuned"]["validation_loss_before"]
        say(
            f"loss per piece on the held-out pairs: {before:.4f} before, {report['validation']['loss']:.4f} now"
        )
        super().summarise(report, out)


def main(arguments: list[str]) -> None:
    decided = ("--model", "--vocabulary", "--decoding")
    what = "its sizes, its vocabulary and the way it decodes"
    training.fine_tune(lambda base: FineTuneTranslatorKind(), arguments, decided, what)
