"""`qkv train vit`: from a folder of pictures to a bundle."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program, training
from qkv.cli.training import TrainCommand, draw_learning_curve, names_in, names_in_run, say_how_it_went
from qkv.families.vit.commands.files import LabelledPictures
from qkv.families.vit.recipes import VIT_RECIPES
from qkv.families.vit.settings import VitSettings, check_vit

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.families.vit.product import PictureClassifier
    from qkv.families.vit.task import Gallery
    from qkv.training.runs import Outcome

Command = TrainCommand[Any, Any]  # those who fine-tune have other files and settings


class VitKind:
    name: ClassVar = "vit"
    command: ClassVar[Any] = TrainCommand[LabelledPictures, VitSettings]
    files: ClassVar[Any] = LabelledPictures
    settings: ClassVar[Any] = VitSettings
    recipes: ClassVar[Any] = VIT_RECIPES
    nominal: ClassVar = 60_000
    amount: ClassVar = "pictures"
    summary: ClassVar = (
        "Train a picture classifier on your own pictures, for example\n"
        "  qkv train vit --images pictures --size 32 --out runs/mine\n\n"
        "One that is there already, trained or imported, goes on with your pictures:\n"
        "  qkv train vit --fine-tune runs/published --images pictures --fit --out runs/mine     (--fine-tune --help)"
    )

    def from_stored(self, stored: dict[str, Any]) -> Any:
        return self.files.from_stored(stored)

    def check(self, settings: Any) -> None:
        check_vit(settings)

    def begun_with(self, names: set[str]) -> bool:
        return bool({"--images", "--scenes"} & names)

    def read(self, command: Command) -> Gallery:
        gallery: Gallery = command.files.gallery(command.settings.data.valid)
        return gallery

    def size(self, read: Gallery) -> int:
        return len(read.train)

    def prepare(self, command: Command, read: Gallery) -> Gallery:
        from qkv.cli.terminal import say

        test = "" if read.test is None else f", {len(read.test):,} to test on"
        say(f"{read.origin}: {len(read.train.classes)} classes, pictures of {read.train.form}")
        say(f"{len(read.train):,} to train on, {len(read.valid):,} to validate on{test}")
        return read

    def display(self, prepared: Gallery) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay(
            "below each validation: how many of its pictures are classified rightly",
            lambda product: f"{100 * prepared.accuracies[-1]:.2f} % right",
        )

    def train(
        self, command: Command, prepared: Gallery, arguments: list[str], **how: Any
    ) -> Outcome[PictureClassifier]:
        from qkv.families.vit.task import train_vit

        return train_vit(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        say_how_it_went(report)
        for name, value in report["results"].items():
            say(f"{name}: {value}")
        draw_learning_curve(out)
        say(f"the model is in {out}: try  {program()} classify {shlex.quote(str(out))} picture.png")


def main(arguments: list[str]) -> None:
    if "--fine-tune" in names_in(arguments) | names_in_run(arguments):
        from qkv.families.vit.commands.fine_tune import main as fine_tune

        fine_tune(arguments)
        return
    training.main(VitKind(), arguments)
