"""Phrases that no translation contains: the last check, when the segments of a text are together again.

What is protected stays as it is, so a phrase inside a tag, a placeholder or an address does not count.
"""

from collections.abc import Sequence

from qkv.errors import UserError
from qkv.families.translator.answers import Answer
from qkv.families.translator.options import TranslationOptions
from qkv.text.protect import protected_spans, without

SHOWN = 60  # characters of a text in an error message


def first_avoided(text: str, options: TranslationOptions) -> str | None:
    """The first phrase to avoid that stands in a text, though not inside of what is protected there."""
    if not options.avoid:
        return None
    tags = [kind for kind in options.protect if kind == "tags"]
    others = [kind for kind in options.protect if kind != "tags"]
    words = without(text, protected_spans(text, tags))
    kept = [(span.start, span.end) for span in protected_spans(words, others)]
    for phrase in options.avoid:
        start = words.find(phrase)
        while start >= 0:
            if not any(first <= start and start + len(phrase) <= last for first, last in kept):
                return phrase
            start = words.find(phrase, start + 1)
    return None


def avoiding(answers: Sequence[Answer], options: TranslationOptions) -> list[Answer]:
    return [each for each in answers if first_avoided(each.text, options) is None]


def check_copied(text: str, options: TranslationOptions) -> None:
    """That a text in which there is nothing to translate can stay as it is."""
    phrase = first_avoided(text, options)
    if phrase is not None:
        raise UserError(
            f"'{shortened(text.strip())}' has nothing to translate and is copied, but contains '{phrase}', "
            "which must be avoided: leave it out of the input, or allow it."
        )


def cannot_avoid(text: str, answers: Sequence[Answer], options: TranslationOptions) -> UserError:
    phrase = first_avoided(answers[0].text, options)
    return UserError(
        f"no translation of '{shortened(text)}' was found that avoids '{phrase}': allow it, or change the text."
    )


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
