"""The options of evaluating a language model, each stated once."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from qkv.flags import SomeFiles


@dataclass(frozen=True, kw_only=True)
class LanguageModelEvaluation:
    """How a language model is evaluated. In Python, texts and chorales can be lists instead of files."""

    DATA: ClassVar = ("text", "music")
    """Options that take data of a Python program instead of a file."""

    text: SomeFiles = ()
    """Unseen text. Each file is a document; of .jsonl, each line."""
    music: SomeFiles = ()
    """Music, for a music model: chorales as .json, or MIDI files."""
    part: Literal["train", "valid", "test"] = "test"
    """Part of a file of chorales to use."""
