"""Phrases that no translation contains: conflicts that are known before it is made, and a last look when it is whole."""

from collections.abc import Sequence

from qkv.errors import UserError
from qkv.families.translator.answers import Answer
from qkv.families.translator.options import Decoding
from qkv.text.protect import Kind, protected_spans, without

SHOWN = 60  # characters of a text in an error message


def check_kept(text: str, kept: Sequence[str], options: Decoding) -> None:
    """That nothing has to be both kept and avoided."""
    for span in kept:
        for avoided in options.avoid:
            if avoided in span:
                raise UserError(
                    f"the translation of '{shortened(text)}' must keep '{shortened(span)}' and avoid '{avoided}': "
                    "avoid something else, or do not protect this."
                )


def avoiding(answers: Sequence[Answer], options: Decoding) -> list[Answer]:
    """Those that contain no phrase to avoid, wherever it comes from; tags are no part of a translation."""
    return [each for each in answers if first_avoided(each.text, options) is None]


def first_avoided(text: str, options: Decoding) -> str | None:
    if not options.avoid:
        return None
    words = without_tags(text, options.protect)
    return next((phrase for phrase in options.avoid if phrase in words), None)


def cannot_avoid(text: str, answers: Sequence[Answer], options: Decoding) -> UserError:
    phrase = first_avoided(answers[0].text, options)
    return UserError(f"no translation of '{shortened(text)}' was found that avoids '{phrase}'.")


def without_tags(text: str, protect: Sequence[Kind]) -> str:
    return without(text, protected_spans(text, [kind for kind in protect if kind == "tags"]))


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
