"""`qkv train codebook`: from pictures to the codes that DALL-E draws with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program, training
from qkv.cli.picture_files import PlainPictures
from qkv.cli.training import TrainCommand, draw_learning_curve, say_how_it_went
from qkv.families.vit.recipes import CODEBOOK_RECIPES
from qkv.families.vit.settings import CodebookSettings, check_codebook

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.families.dalle.codebook_task import Sights
    from qkv.families.dalle.codes import Codes
    from qkv.training.runs import Outcome


Command = TrainCommand[PlainPictures, CodebookSettings]


class CodebookKind:
    name: ClassVar = "codebook"
    command: ClassVar = Command
    files: ClassVar = PlainPictures
    settings: ClassVar = CodebookSettings
    recipes: ClassVar = CODEBOOK_RECIPES
    nominal: ClassVar = 20_000
    amount: ClassVar = "pictures"
    summary: ClassVar = (
        "Train a codebook on pictures, for example\n  qkv train codebook --scenes 20000 --out runs/codes"
    )

    def from_stored(self, stored: dict[str, Any]) -> PlainPictures:
        return PlainPictures.from_stored(stored)

    def check(self, settings: CodebookSettings) -> None:
        check_codebook(settings)

    def begun_with(self, names: set[str]) -> bool:
        return bool({"--images", "--scenes"} & names)

    def read(self, command: Command) -> Sights:
        return command.files.sights(command.settings.data.valid)

    def size(self, read: Sights) -> int:
        return len(read.train)

    def prepare(self, command: Command, read: Sights) -> Sights:
        from qkv.cli.terminal import say

        say(f"{read.origin}: {len(read.train):,} to train on, {len(read.valid):,} to validate on")
        return read

    def display(self, prepared: Sights) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay()

    def train(self, command: Command, prepared: Sights, arguments: list[str], **how: Any) -> Outcome[Codes]:
        from qkv.families.dalle.codebook_task import train_codebook

        return train_codebook(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        say_how_it_went(report, can_be_fine_tuned=False)
        for name, value in report["results"].items():
            say(f"{name}: {value}")
        draw_learning_curve(out)
        say(f"the codebook is in {out}: next  {program()} train dalle --codebook {shlex.quote(str(out))} …")


def main(arguments: list[str]) -> None:
    training.main(CodebookKind(), arguments)
