"""`qkv train dalle`: from captioned pictures and a codebook to a painter."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.cli import program, training
from qkv.cli.picture_files import CaptionedPictures
from qkv.cli.training import TrainCommand, draw_learning_curve, say_how_it_went
from qkv.errors import UserError
from qkv.families.vit.recipes import DALLE_RECIPES
from qkv.families.vit.settings import DalleSettings, check_dalle

if TYPE_CHECKING:
    from qkv.cli.terminal import TrainingDisplay
    from qkv.families.dalle.product import Painter
    from qkv.families.dalle.task import Album
    from qkv.training.runs import Outcome


Command = TrainCommand[CaptionedPictures, DalleSettings]


class DalleKind:
    name: ClassVar = "dalle"
    command: ClassVar = Command
    files: ClassVar = CaptionedPictures
    settings: ClassVar = DalleSettings
    recipes: ClassVar = DALLE_RECIPES
    nominal: ClassVar = 60_000
    amount: ClassVar = "pictures"
    summary: ClassVar = (
        "Train a model that draws what a caption says, for example\n"
        "  qkv train codebook --scenes 20000 --out runs/codes\n"
        "  qkv train dalle --scenes 60000 --codebook runs/codes --out runs/scenes"
    )

    def from_stored(self, stored: dict[str, Any]) -> CaptionedPictures:
        return CaptionedPictures.from_stored(stored)

    def check(self, settings: DalleSettings) -> None:
        check_dalle(settings)

    def begun_with(self, names: set[str]) -> bool:
        return bool({"--images", "--scenes"} & names)

    def read(self, command: Command) -> Album:
        return read_album(command.files, command.settings.data.valid)

    def size(self, read: Album) -> int:
        return len(read.train)

    def prepare(self, command: Command, read: Album) -> Album:
        from qkv.cli.terminal import say

        say(f"{read.origin}: {len(read.train):,} to train on, {len(read.valid):,} to validate on")
        return read

    def display(self, prepared: Album) -> TrainingDisplay:
        from qkv.cli.terminal import TrainingDisplay

        return TrainingDisplay()

    def train(self, command: Command, prepared: Album, arguments: list[str], **how: Any) -> Outcome[Painter]:
        from qkv.families.dalle.task import train_dalle

        return train_dalle(prepared, command.settings, command.out, **how)

    def summarise(self, report: dict[str, Any], out: Path) -> None:
        from qkv.cli.terminal import say

        say_how_it_went(report, can_be_fine_tuned=False)
        for name, value in report["results"].items():
            say(f"{name}: {value}")
        draw_learning_curve(out)
        say(f'the model is in {out}: try  {program()} draw {shlex.quote(str(out))} "…" -o picture.png')


def main(arguments: list[str]) -> None:
    training.main(DalleKind(), arguments)


def read_album(files: CaptionedPictures, held_out: int) -> Album:
    from qkv.data.worlds.scenes import all_captions
    from qkv.families.dalle.codes import Codes
    from qkv.families.dalle.scene_scores import measured_on_scenes
    from qkv.families.dalle.task import Album
    from qkv.families.loading import load_for

    files.check()
    if files.codebook is None:
        raise UserError(
            "--codebook is missing: the folder of one that `qkv train codebook` has made from such pictures."
        )
    codes = load_for(files.codebook, "train dalle", Codes)
    train, valid = files.parts(held_out)
    own, shape = codes.model.config, train.pictures.shape[1:]
    if shape != (own.channels, own.side, own.side):
        raise UserError(
            f"the pictures have {shape[2]} × {shape[1]} pixels of {shape[0]} numbers each, and those of the codebook "
            f"{own.side} × {own.side} of {own.channels}: train one with these pictures."
        )
    built_in = files.images is None
    return Album(
        train=train,
        valid=valid,
        codes=codes,
        origin=f"{files.scenes:,} built-in scenes" if files.images is None else files.images.resolve().name,
        world=all_captions() if built_in else [],
        measure=measured_on_scenes if built_in else lambda painter, wanted: {},
    )
