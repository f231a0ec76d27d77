"""Language identification by naive Bayes on bytes (py3langid), among the two languages and similar ones."""

from functools import lru_cache
from typing import Any

from qkv.data.language_codes import two_letters
from qkv.errors import MissingExtraError

USUAL = (
    "ar", "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "he", "hi", "hr", "hu", "it", "ja", "ko",
    "lt", "lv", "mt", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "tr", "uk", "zh",
)  # fmt: skip
FEWEST_LETTERS = 20  # shorter text is not reliable


class LanguageFilter:
    def __init__(self, source: str | None, target: str | None, confidence: float):
        self.languages = tuple(known_code(language) for language in (source, target))
        self.confidence = confidence
        self.identifier = identifier(tuple(sorted({*USUAL, *filter(None, self.languages)})))

    def drops(self, source: str, target: str) -> bool:
        return any(
            language is not None and self.is_other(text, language)
            for text, language in zip((source, target), self.languages, strict=True)
        )

    def is_other(self, text: str, language: str) -> bool:
        if sum(map(str.isalpha, text)) < FEWEST_LETTERS:
            return False
        found, confidence = self.identifier.classify(text)
        return bool(found != language and confidence >= self.confidence)


def known_code(language: str | None) -> str | None:
    """The code of a tag such as en-US or eng, or None if the identifier does not know the language."""
    code = two_letters(language)
    return code if code in labels() else None


@lru_cache(maxsize=4)
def identifier(languages: tuple[str, ...] | None) -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtraError(
            "the check of languages",
            package="py3langid",
            extra="corpus",
            otherwise="or skip it with {language_confidence} 0",
        ) from None
    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages(languages)
    return found


@lru_cache(maxsize=1)
def labels() -> frozenset[str]:
    return frozenset(identifier(None).labels)
