"""The options of evaluating a language model, each stated once."""

from dataclasses import dataclass
from typing import Literal

from qkv.flags import OrData, SomeFiles


@dataclass(frozen=True, kw_only=True)
class LanguageModelEvaluation:
    """How a language model is evaluated. In Python, texts and chorales can be lists instead of files."""

    text: OrData[SomeFiles] = ()
    """Unseen text. Each file is one document. In .jsonl, each line's "text" is a document."""
    music: OrData[SomeFiles] = ()
    """Music, for a music model: chorales as .json, or MIDI files."""
    part: Literal["train", "valid", "test"] = "test"
    """Part of a file of chorales to use."""
