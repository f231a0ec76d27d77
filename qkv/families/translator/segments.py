"""A text in segments that a model can take, and what is wanted of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qkv.errors import UserError
from qkv.families.translator.answers import Answer
from qkv.families.translator.options import TranslationOptions
from qkv.text.protect import Kind, lines_around, occurrences, protected_spans, split_around, without
from qkv.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Segment:
    text: str  # with the white space around it
    options: TranslationOptions
    copied: bool = False  # there is nothing in it to translate


def segments_of(text: str, protect: Sequence[Kind], tokenizer: Vocabulary, limit: int) -> list[str]:
    """The lines of a text, and parts of a long line; no protected span is cut."""

    def size(part: str) -> int:
        return len(tokenizer.encode(part.strip()))

    lines = lines_around(text, protect) or [text]
    return [part for line in lines for part in split_around(line, protect, size, limit)]


def split_request(text: str, options: TranslationOptions, tokenizer: Vocabulary, limit: int) -> list[Segment]:
    """The segments of a text: the first begins with the prefix, and the last has what must be contained."""
    text, options = resolve_language(text, options, tokenizer)
    parts = segments_of(text, options.protect, tokenizer, limit)
    written = [place for place, part in enumerate(parts) if part.strip()]
    translated = [place for place in written if is_for_translation(parts[place], options.protect)]
    first, last = min(written, default=0), max(translated or written, default=0)
    return [
        Segment(
            part,
            replace(
                options,
                prefix=options.prefix if place == first else "",
                contain=options.contain if place == last else (),
            ),
            copied=place not in translated,
        )
        for place, part in enumerate(parts)
    ]


def resolve_language(
    text: str, options: TranslationOptions, tokenizer: Vocabulary
) -> tuple[str, TranslationOptions]:
    """The text without what asks for a target language, and the options with that language."""
    marker, rest = tokenizer.without_marker(text)
    if marker is not None and not tokenizer.languages:
        return text, options  # nobody has taught it what that means
    language = options.target_language
    if marker is not None and rest != text:  # where it is the model's default, encoding adds it
        language, rest = marker[2:-2], rest.lstrip()
    if language is not None and language not in tokenizer.languages:
        known = ", ".join(tokenizer.languages)
        raise UserError(
            f"this model knows no target language '{language}': "
            + (f"ask for one of {known}." if known else "it translates into one only.")
        )
    return rest, replace(options, target_language=language)


def copy_of(segment: Segment) -> Answer:
    """A segment that is not translated, with what every translation begins with and contains; nothing stays nothing."""
    text, options = segment.text.strip(), segment.options
    if text:
        missing = [phrase for phrase in options.contain if not occurrences(text, phrase)]
        text = " ".join([*options.prefix.split(), text, *missing])
    return Answer(text=text, score=0.0)


def is_for_translation(text: str, protect: Sequence[Kind]) -> bool:
    """Is there a letter in it that no protected span has?"""
    return has_letters(without(text, protected_spans(text, protect)))


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)
