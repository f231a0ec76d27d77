"""The final check for phrases to avoid, after the segments of a text are joined.

A phrase inside protected text (a tag, a placeholder or an address) does not count.
"""

from collections.abc import Sequence

from qkv.errors import QkvError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation
from qkv.text.protect import protected_spans, remove_spans

SHOWN = 60  # characters of a text in an error message


def first_avoided(text: str, options: TranslationOptions) -> str | None:
    """The first phrase to avoid that occurs in the text outside protected spans."""
    if not options.avoid:
        return None
    tags = [kind for kind in options.protected if kind == "tags"]
    others = [kind for kind in options.protected if kind != "tags"]
    words = remove_spans(text, protected_spans(text, tags))
    kept = [(span.start, span.end) for span in protected_spans(words, others)]
    for phrase in options.avoid:
        start = words.find(phrase)
        while start >= 0:
            if not any(first <= start and start + len(phrase) <= last for first, last in kept):
                return phrase
            start = words.find(phrase, start + 1)
    return None


def avoiding(translations: Sequence[Translation], options: TranslationOptions) -> list[Translation]:
    return [each for each in translations if first_avoided(each.text, options) is None]


def check_copied(text: str, options: TranslationOptions) -> None:
    """Raise an error if text that is copied contains a phrase to avoid."""
    phrase = first_avoided(text, options)
    if phrase is not None:
        raise QkvError(
            f"{shortened(text)!r} has nothing to translate and is copied, but it contains {phrase!r}, "
            "which must be avoided: remove it from the input, or allow it."
        )


def cannot_avoid(text: str, translations: Sequence[Translation], options: TranslationOptions) -> QkvError:
    phrase = first_avoided(translations[0].text, options)
    return QkvError(
        f"found no translation of {shortened(text)!r} without {phrase!r}: allow it, or change the text."
    )


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
