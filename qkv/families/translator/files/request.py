"""What the translation of all segments of a file shares."""

from dataclasses import dataclass

from qkv.families.translator.options import TranslationOptions


@dataclass(frozen=True, kw_only=True)
class Request:
    options: TranslationOptions
    source: str | None = None
    """Languages, if they are known."""
    target: str | None = None
