"""`qkv train vit --fine-tune MODEL`: a picture classifier that was trained or imported before learns from other pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import training
from qkv.cli.training import TrainCommand
from qkv.errors import UserError
from qkv.families.vit.commands.files import PicturesForModel
from qkv.families.vit.commands.train import VitKind
from qkv.families.vit.recipes import fine_tune_recipes
from qkv.families.vit.settings import FineTuneVitSettings, check_fine_tuned_vit

if TYPE_CHECKING:
    from qkv.families.vit.product import PictureClassifier
    from qkv.families.vit.task import Gallery
    from qkv.training.runs import Outcome

NOMINAL_WIDTH = 64  # of the model for which --help shows the automatic settings
Command = TrainCommand[PicturesForModel, FineTuneVitSettings]


class FineTuneVitKind(VitKind):
    command: ClassVar[Any] = Command
    files: ClassVar[Any] = PicturesForModel
    settings: ClassVar[Any] = FineTuneVitSettings
    recipes: ClassVar[Any] = fine_tune_recipes(NOMINAL_WIDTH)
    nominal: ClassVar = 5_000
    summary: ClassVar = (
        "Go on with a picture classifier that was trained or imported before, on your own pictures, for example\n"
        "  qkv train vit --fine-tune runs/published --images pictures --fit --out runs/mine\n\n"
        "Its sizes and the form of its pictures stay as they are. Where the classes are those that it knows, its head\n"
        "goes on as well; else it gets a new one."
    )

    def check(self, settings: FineTuneVitSettings) -> None:
        check_fine_tuned_vit(settings)

    def read(self, command: Command) -> Gallery:
        from qkv.families.vit.fine_tuning import classifier_in

        base = command.files.fine_tune
        if base is None:
            raise UserError("give --fine-tune with the folder of a picture classifier.")
        return command.files.gallery(classifier_in(base).form, command.settings.data.valid)

    def train(
        self, command: Command, prepared: Gallery, arguments: list[str], **how: Any
    ) -> Outcome[PictureClassifier]:
        from qkv.families.vit.fine_tuning import fine_tune_vit

        base = command.files.fine_tune
        assert base is not None
        return fine_tune_vit(prepared, base, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        how = {"kept": "the head is that of the model", "new": "the classes are others: the head is new"}
        say(f"on top of {report['fine_tuned']['from']}; {how[report['fine_tuned']['head']]}")
        super().summarise(report, out)


def kind_for(base: str | None) -> FineTuneVitKind:
    """The defaults follow the model."""
    if base is None:  # a run that is resumed has its settings
        return FineTuneVitKind()
    from qkv.families.vit.fine_tuning import classifier_in

    width = classifier_in(Path(base)).model.config.stack.width

    class FineTuneThis(FineTuneVitKind):
        recipes: ClassVar[Any] = fine_tune_recipes(width)

    return FineTuneThis()


def main(arguments: list[str]) -> None:
    decided, what = ("--model", "--size", "--colours"), "its sizes, to which --fit brings pictures"
    training.fine_tune(kind_for, arguments, decided, what)
