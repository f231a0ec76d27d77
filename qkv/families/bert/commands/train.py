"""`qkv train bert`: train a BERT on text, or fine-tune one on labeled texts."""

from qkv.families.bert.inputs import BertLabels, ProseFiles
from qkv.families.bert.recipes import FINE_TUNE_RECIPES, RECIPES
from qkv.families.bert.settings import BertFineTuneSettings, BertSettings
from qkv.training.trainable import Trainable, always

TEXT = Trainable(
    name="bert",
    summary="Train a BERT on text, to guess masked words and whether one passage follows another, for example\n"
    "  qkv train bert --text book.txt --output runs/book\n\n"
    "Fine-tune a BERT on labeled texts:\n"
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
