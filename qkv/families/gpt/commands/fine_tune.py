"""`qkv train gpt --fine-tune MODEL --text FILE`, or --music: a language model that was trained or imported before goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import tyro

from qkv.cli import training
from qkv.cli.training import TrainCommand
from qkv.errors import UserError
from qkv.families.gpt.commands.train import (
    Command,
    MusicFiles,
    MusicKind,
    SomeFiles,
    StoredPaths,
    TextFiles,
    TextKind,
    parted,
)
from qkv.families.gpt.settings import (
    FineTuneMusicSettings,
    FineTuneTextSettings,
    check_more_music,
    check_more_text,
    for_width,
    more_music,
    more_text,
)

if TYPE_CHECKING:
    from qkv.data.documents import Documents
    from qkv.families.gpt.product import Generator
    from qkv.families.gpt.task import MusicMaterial, TextPassages
    from qkv.training.runs import Outcome

NOMINAL_WIDTH = 128  # of the model for which --help shows the automatic settings
DECIDED = ("--model", "--vocabulary", "--pieces"), "its sizes and its vocabulary"  # by the model that goes on


@dataclass(frozen=True, kw_only=True)
class BeginsWithModel(StoredPaths):
    fine_tune: Annotated[Path | None, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")] = None
    """Folder of the language model to go on from, as `qkv train gpt` or `qkv import` has made it."""

    @property
    def base(self) -> Path:
        if self.fine_tune is None:
            raise UserError("give --fine-tune with the folder of a language model.")
        return self.fine_tune

    def paths(self) -> dict[str, tuple[Path, ...]]:
        return {name: given for name, given in vars(self).items() if name != "fine_tune"}

    def stored(self) -> dict[str, Any]:
        return {"fine_tune": str(self.base.resolve()), **super().stored()}

    @classmethod
    def from_stored(cls, *, fine_tune: str, **paths: list[str]) -> Self:
        return cls(
            fine_tune=Path(fine_tune), **{name: tuple(map(Path, given)) for name, given in paths.items()}
        )


@dataclass(frozen=True, kw_only=True)
class TextForModel(BeginsWithModel, TextFiles):
    text: SomeFiles = ()
    """Text to learn from: each file is a document, or of .jsonl each line with its "text"."""


@dataclass(frozen=True, kw_only=True)
class MusicForModel(BeginsWithModel, MusicFiles):
    pass


class FineTuneTextKind(TextKind):
    command: ClassVar[Any] = TrainCommand[TextForModel, FineTuneTextSettings]
    files: ClassVar[Any] = TextForModel
    settings: ClassVar[Any] = FineTuneTextSettings
    recipes: ClassVar[Any] = for_width(more_text, NOMINAL_WIDTH)
    nominal: ClassVar = 100_000
    summary: ClassVar = (
        "Go on with a language model that was trained or imported before, on your own text, for example\n"
        "  qkv train gpt --fine-tune runs/gpt2 --text mine.txt --out runs/mine\n\n"
        "Its sizes and its vocabulary stay as they are."
    )

    def from_stored(self, stored: dict[str, Any]) -> TextForModel:
        return TextForModel.from_stored(**stored)

    def check(self, settings: FineTuneTextSettings) -> None:
        check_more_text(settings)

    def begun_with(self, names: set[str]) -> bool:
        return {"--fine-tune", "--text"} <= names

    def read(self, command: Command) -> tuple[Documents, Documents | None]:
        if not command.files.text:
            raise UserError("give --text with a file to learn from.")
        return super().read(command)

    def prepare(self, command: Command, read: tuple[Documents, Documents | None]) -> TextPassages:
        from qkv.families.gpt.task import TextPassages

        return TextPassages(*parted(read, command.settings))

    def train(
        self, command: Command, prepared: TextPassages, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.families.gpt.fine_tuning import fine_tune_gpt

        return fine_tune_gpt(prepared, command.files.base, command.settings, command.out, **how)


class FineTuneMusicKind(MusicKind):
    command: ClassVar[Any] = TrainCommand[MusicForModel, FineTuneMusicSettings]
    files: ClassVar[Any] = MusicForModel
    settings: ClassVar[Any] = FineTuneMusicSettings
    recipes: ClassVar[Any] = for_width(more_music, NOMINAL_WIDTH)
    nominal: ClassVar = 10_000
    summary: ClassVar = (
        "Go on with a model of music that was trained before, on your own music in four voices, for example\n"
        "  qkv train gpt --fine-tune runs/chorales --music mine.json --out runs/mine\n\n"
        "Its sizes stay as they are."
    )

    def from_stored(self, stored: dict[str, Any]) -> MusicForModel:
        return MusicForModel.from_stored(**stored)

    def check(self, settings: FineTuneMusicSettings) -> None:
        check_more_music(settings)

    def begun_with(self, names: set[str]) -> bool:
        return {"--fine-tune", "--music"} <= names

    def train(
        self, command: Command, prepared: MusicMaterial, arguments: list[str], **how: Any
    ) -> Outcome[Generator]:
        from qkv.families.gpt.fine_tuning import fine_tune_gpt

        return fine_tune_gpt(prepared, command.files.base, command.settings, command.out, **how)


def kind_for(base: str | None, *, music: bool) -> training.Kind:
    """The defaults follow the model."""
    width = NOMINAL_WIDTH
    if base is not None:  # a run that is resumed has its settings
        from qkv.families.gpt.fine_tuning import model_in

        width = model_in(Path(base), music=music).model.config.stack.width

    class TextForThis(FineTuneTextKind):
        recipes: ClassVar[Any] = for_width(more_text, width)

    class MusicForThis(FineTuneMusicKind):
        recipes: ClassVar[Any] = for_width(more_music, width)

    return MusicForThis() if music else TextForThis()


def main(arguments: list[str], *, music: bool) -> None:
    training.fine_tune(lambda base: kind_for(base, music=music), arguments, *DECIDED)
