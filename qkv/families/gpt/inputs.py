"""The texts, music and labels that a language model is trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.flags import OptionalFile, OptionalModel, OptionMessageError, SomeFiles
from qkv.training.inputs import LabelInputs, TextInputs
from qkv.training.trainable import Inputs

if TYPE_CHECKING:
    from qkv.data.chorales import Music
    from qkv.families.gpt.labels_task import Labels
    from qkv.families.gpt.text_data import TextData


@dataclass(frozen=True, kw_only=True)
class TextFiles(TextInputs):
    text: SomeFiles = ()
    """Text to train on. Each file is one document. In .jsonl, each line's "text" is a document. By default, the source code of Python's
    standard library."""
    valid_text: SomeFiles = ()
    """Text to validate on; by default some of the training text is held out."""

    def read(self, settings: Any, say: Callable[[str], None]) -> TextData:
        from qkv.data.documents import python_source, read_documents
        from qkv.families.gpt.text_data import TextData

        if self.valid_text and not self.text:
            raise OptionMessageError("{valid_text} needs {text}.")
        if not self.text:
            say("no text given: training on the source code of Python's standard library")
        train = read_documents(self.text) if self.text else python_source()
        return TextData(train, read_documents(self.valid_text) if self.valid_text else None)


@dataclass(frozen=True, kw_only=True)
class MusicFiles(Inputs):
    MAIN: ClassVar = "music"

    music: SomeFiles = ()
    """Chorales as .json with train, valid and test, or MIDI files."""

    def read(self, settings: Any, say: Callable[[str], None]) -> Music:
        from qkv.data.chorales import read_music

        return read_music(self.music, settings.seed, say)


@dataclass(frozen=True, kw_only=True)
class FineTuneText(TextFiles):
    fine_tune: OptionalModel = None
    """Folder of the language model to fine-tune, from `qkv train gpt` or `qkv import`."""
    text: SomeFiles = ()
    """Text to train on. Each file is one document. In .jsonl, each line's "text" is a document."""


@dataclass(frozen=True, kw_only=True)
class FineTuneMusic(MusicFiles):
    fine_tune: OptionalModel = None
    """Folder of the music model to fine-tune."""


@dataclass(frozen=True, kw_only=True)
class GPTLabels(LabelInputs):
    labels: OptionalFile = None
    """Labeled texts: text, tab, label; or two texts and a label. For multiple choice: text, answers, and the number of
    the right answer."""

    def read(self, settings: Any, say: Callable[[str], None]) -> Labels:
        from qkv.families.gpt.labels_task import read_labels

        _, labels = self.model_and_labels()
        return read_labels(labels, self.valid_labels, self.columns, settings, say)
