"""What the translation of all segments of a file shares."""

from dataclasses import dataclass

from qkv.families.translator.options import ANY_FILE, FileOptions, TranslationOptions
from qkv.families.translator.recall import Recall


@dataclass(frozen=True, kw_only=True)
class Request:
    options: TranslationOptions
    source: str | None = None
    """Languages, if they are known."""
    target: str | None = None
    recall: Recall | None = None
    files: FileOptions = ANY_FILE
