"""The options of evaluating a language model, each stated once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from qkv.flags import Flag

Files = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]


@dataclass(frozen=True, kw_only=True)
class LanguageModelEvaluation:
    """How a language model is evaluated. In Python, texts and chorales can be lists instead of files."""

    text: Files = ()
    """Unseen text. Each file is a document; of .jsonl, each line."""
    music: Files = ()
    """Music, for a music model: chorales as .json, or MIDI files."""
    part: Literal["train", "valid", "test"] = "test"
    """Part of a file of chorales to use."""
