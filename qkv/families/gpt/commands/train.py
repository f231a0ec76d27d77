"""`qkv train gpt`: train a language model on text or music, or fine-tune one on text, music or labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qkv.families.gpt.inputs import FineTuneMusic, FineTuneText, GPTLabels, MusicFiles, TextFiles
from qkv.families.gpt.recipes import MUSIC_RECIPES, RECIPES, fine_tune_music, fine_tune_text, fine_tuning
from qkv.families.gpt.settings import (
    FineTuneMusicSettings,
    FineTuneSettings,
    FineTuneTextSettings,
    GPTSettings,
    MusicSettings,
)
from qkv.training.inputs import width_of
from qkv.training.settings import for_width
from qkv.training.trainable import Recipe, Trainable, always

NOMINAL_WIDTH = 128  # of the model to fine-tune, for the defaults in --help


def recipes_by_width(recipe: Callable[[int, int], Any]) -> Callable[[Any], Mapping[str, Recipe]]:
    """The wider the model to fine-tune, the lower the learning rate."""

    def recipes(command: Any) -> Mapping[str, Recipe]:
        base: Path | None = None if command is None else command.inputs.fine_tune
        width = None if base is None else width_of(base)
        return for_width(recipe, width or NOMINAL_WIDTH)

    return recipes


TEXT = Trainable(
    name="gpt",
    summary="Train a language model on text, for example\n"
    "  qkv train gpt --text book.txt --output runs/book\n\n"
    "Train on music:\n"
    "  qkv train gpt --music chorales.json --output runs/chorales      (--music --help)\n\n"
    "Fine-tune a language model on your text or music:\n"
    "  qkv train gpt --fine-tune runs/book --text mine.txt --output runs/mine     (--fine-tune --text --help)\n\n"
    "Fine-tune a language model on labeled texts:\n"
    "  qkv train gpt --fine-tune runs/book --labels reviews.tsv --output runs/reviews     (--fine-tune --labels --help)",
    inputs=TextFiles,
    settings=GPTSettings,
    recipes=always(RECIPES),
    nominal=1_000_000,
    unit="characters",
    task="qkv.families.gpt.task:text_task",
    usage='generate {out} "…"',
)
MUSIC = Trainable(
    name="gpt",
    summary="Train a language model on music in four voices, for example\n"
    "  qkv train gpt --music chorales.json --output runs/chorales",
    inputs=MusicFiles,
    settings=MusicSettings,
    recipes=always(MUSIC_RECIPES),
    nominal=50_000,
    unit="frames",
    task="qkv.families.gpt.task:music_task",
    needs=frozenset(("music",)),
    starts_with=frozenset(("music",)),
    usage="generate {out} -o music.mid --max-new-tokens 1024",
)
FINE_TUNE_TEXT = Trainable(
    name="gpt",
    summary="Fine-tune a language model on your own text, for example\n"
    "  qkv train gpt --fine-tune runs/gpt2 --text mine.txt --output runs/mine\n\n"
    "Its sizes and its vocabulary do not change.",
    inputs=FineTuneText,
    settings=FineTuneTextSettings,
    recipes=recipes_by_width(fine_tune_text),
    nominal=100_000,
    unit="characters",
    task="qkv.families.gpt.fine_tuning:text_task",
    needs=frozenset(("fine_tune", "text")),
    starts_with=frozenset(("text",)),
    usage='generate {out} "…"',
)
FINE_TUNE_MUSIC = Trainable(
    name="gpt",
    summary="Fine-tune a music model on your own music in four voices, for example\n"
    "  qkv train gpt --fine-tune runs/chorales --music mine.json --output runs/mine\n\n"
    "Its sizes do not change.",
    inputs=FineTuneMusic,
    settings=FineTuneMusicSettings,
    recipes=recipes_by_width(fine_tune_music),
    nominal=10_000,
    unit="frames",
    task="qkv.families.gpt.fine_tuning:music_task",
    needs=frozenset(("fine_tune", "music")),
    starts_with=frozenset(("music",)),
    usage="generate {out} -o music.mid --max-new-tokens 1024",
)


def example_texts(report: Mapping[str, Any]) -> str:
    """As many texts as `qkv classify` needs for one prediction of this form."""
    texts = {"entailment": 2, "similarity": 2, "choice": 3}.get(report["data"]["form"], 1)
    return " ".join(['"…"'] * texts)


LABELS = Trainable(
    name="gpt",
    summary="Fine-tune a language model on labeled texts, for example\n"
    "  qkv train gpt --fine-tune runs/book --labels reviews.tsv --output runs/reviews\n\n"
    "To fine-tune it on text or music instead: --fine-tune --text --help and --fine-tune --music --help.",
    inputs=GPTLabels,
    settings=FineTuneSettings,
    recipes=recipes_by_width(fine_tuning),
    nominal=10_000,
    unit="examples",
    task="qkv.families.gpt.labels_task:labels_task",
    needs=frozenset(("fine_tune", "labels")),
    starts_with=frozenset(("labels",)),
    usage="classify {out} {example}",
    example=example_texts,
)
TRAINABLES = (TEXT, MUSIC, LABELS, FINE_TUNE_TEXT, FINE_TUNE_MUSIC)
