"""`qkv train bert`: train a BERT on text, or fine-tune one on labelled texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qkv.cli.inputs import SomeFiles
from qkv.cli.text_inputs import LabelInputs
from qkv.errors import QkvError
from qkv.families.bert.settings import FINE_TUNE_RECIPES, RECIPES, BertFineTuneSettings, BertSettings
from qkv.training.trainable import Inputs, Trainable, always

if TYPE_CHECKING:
    from qkv.families.bert.labels_task import LabelledData
    from qkv.families.bert.task import ProseData


@dataclass(frozen=True, kw_only=True)
class ProseFiles(Inputs):
    text: SomeFiles = ()
    """Text to train on. A blank line ends a document. By default, the help texts and docstrings of Python's standard
    library."""
    valid_text: SomeFiles = ()
    """Text to validate on; by default some of the training text is held out."""

    def read(self, settings: Any, say: Callable[[str], None]) -> ProseData:
        from qkv.data.sentences import python_prose, read_prose
        from qkv.families.bert.task import ProseData

        if self.valid_text and not self.text:
            raise QkvError("--valid-text needs --text.")
        if not self.text:
            say("no --text given: training on the help texts and docstrings of Python's standard library")
        train = read_prose(self.text) if self.text else python_prose()
        return ProseData(train, read_prose(self.valid_text) if self.valid_text else None)


@dataclass(frozen=True, kw_only=True)
class BertLabels(LabelInputs):
    valid_columns: str = ""
    """Columns of --valid-labels, if they differ. For STS-B: 6,7,5."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labels import read_labelled
        from qkv.families.bert.labels_task import LabelledData

        _, labels = self.model_and_labels()
        train = read_labelled(labels, self.columns, say)
        if self.valid_labels is None:
            return LabelledData(train, None)
        return LabelledData(train, read_labelled(self.valid_labels, self.valid_columns or self.columns, say))


TEXT = Trainable(
    name="bert",
    summary="Train a BERT on text, to guess masked words and whether one passage follows another, for example\n"
    "  qkv train bert --text book.txt --output runs/book\n\n"
    "Fine-tune a BERT on labelled texts:\n"
    "  qkv train bert --fine-tune runs/book --labels reviews.tsv --output runs/reviews     (--fine-tune --help)",
    inputs=ProseFiles,
    settings=BertSettings,
    recipes=always(RECIPES),
    nominal=1_000_000,
    unit="characters",
    task="qkv.families.bert.task:bert_task",
    usage='fill {out} "… [MASK] …"',
)
LABELS = Trainable(
    name="bert",
    summary="Fine-tune a BERT on texts, or pairs of texts, with classes or numbers, for example\n"
    "  qkv train bert --fine-tune runs/book --labels reviews.tsv --output runs/reviews",
    inputs=BertLabels,
    settings=BertFineTuneSettings,
    recipes=always(FINE_TUNE_RECIPES),
    nominal=10_000,
    unit="examples",
    task="qkv.families.bert.labels_task:labels_task",
    needs=frozenset(("fine_tune",)),
    starts_with=frozenset(("labels",)),
    usage='classify {out} "…"',
)
TRAINABLES = (TEXT, LABELS)
