"""Words of a text for comparing texts: without case and punctuation."""

import re
import unicodedata

# Scripts that are written without spaces count one word per character.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:[\u0300-\u036f\u0900-\u097f]+[^\W_{UNSPACED}]*)*")


def words(text: str) -> list[str]:
    """Case-folded words, and numbers."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return WORD.findall(text.casefold())


def plain(text: str) -> str:
    """Normalize a text for comparison: only its words count, if it has any."""
    return " ".join(words(text)) or " ".join(text.split())
