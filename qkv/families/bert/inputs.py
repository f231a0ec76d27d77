"""The texts and labels that a BERT is trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qkv.flags import OptionMessageError, SomeFiles
from qkv.training.inputs import LabelInputs, TextInputs

if TYPE_CHECKING:
    from qkv.families.bert.labels_task import LabelledData
    from qkv.families.bert.task import ProseData


@dataclass(frozen=True, kw_only=True)
class ProseFiles(TextInputs):
    text: SomeFiles = ()
    """Text to train on. A blank line ends a document. By default, the help texts and docstrings of Python's standard
    library."""
    valid_text: SomeFiles = ()
    """Text to validate on; by default some of the training text is held out."""

    def read(self, settings: Any, say: Callable[[str], None]) -> ProseData:
        from qkv.data.sentences import python_prose, read_prose
        from qkv.families.bert.task import ProseData

        if self.valid_text and not self.text:
            raise OptionMessageError("{valid_text} needs {text}.")
        if not self.text:
            say("no text given: training on the help texts and docstrings of Python's standard library")
        train = read_prose(self.text) if self.text else python_prose()
        return ProseData(train, read_prose(self.valid_text) if self.valid_text else None)


@dataclass(frozen=True, kw_only=True)
class BertLabels(LabelInputs):
    valid_columns: str = ""
    """Columns of the file to validate on, if they differ. For STS-B: 6,7,5."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labels import read_labelled
        from qkv.families.bert.labels_task import LabelledData

        _, labels = self.model_and_labels()
        train = read_labelled(labels, self.columns, say)
        if self.valid_labels is None:
            return LabelledData(train, None)
        return LabelledData(train, read_labelled(self.valid_labels, self.valid_columns or self.columns, say))
