"""Split a text into segments that fit the model, each with its own options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qkv.errors import InputError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation
from qkv.text.protect import (
    Protection,
    is_hidden_from_model,
    occurrences,
    protected_spans,
    remove_spans,
    split_lines,
    split_long_text,
)
from qkv.text.sentences import count_boundaries, split_sentences
from qkv.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Segment:
    text: str  # with the white space around it
    options: TranslationOptions
    copied: bool = False  # it contains nothing to translate


def segments_of(text: str, protect: Sequence[Protection], tokenizer: Vocabulary, limit: int) -> list[str]:
    """The lines of a text, and parts of long lines. No protected span is cut."""

    def size(part: str) -> int:
        return len(tokenizer.encode(part.strip()))

    def parts(line: str) -> list[str]:
        if len(line.encode(errors="replace")) < limit:  # a token has at least one byte
            return [line]
        return split_long_text(line, protect, size, limit)

    lines = split_lines(text, protect) or [text]
    return [part for line in lines for part in parts(line)]


def split_request(text: str, options: TranslationOptions, tokenizer: Vocabulary, limit: int) -> list[Segment]:
    """The segments of a text. The first gets the prefix, the last gets the phrases to contain."""
    text, options = resolve_language(text, options, tokenizer)
    parts = segments_of(text, options.protected, tokenizer, limit)
    written = [place for place, part in enumerate(parts) if part.strip()]
    translated = [place for place in written if is_for_translation(parts[place], options.protected)]
    first, last = min(written, default=0), max(translated or written, default=0)
    return [
        Segment(
            part,
            options_of_segment(options, is_first=place == first, is_last=place == last),
            copied=place not in translated,
        )
        for place, part in enumerate(parts)
    ]


def sentences_if_lost(text: str, options: TranslationOptions, translation: str) -> list[Segment]:
    """The sentences of a segment whose translation has fewer of them; otherwise none.

    Text with tags is not split, because a pair of tags can contain several sentences. Samples are left as they are drawn.
    """
    if options.sample or not count_boundaries(text):
        return []
    spans = protected_spans(text, options.protected)
    if any(map(is_hidden_from_model, spans)):
        return []
    sentences = split_sentences(text, [(span.start, span.end) for span in spans])
    if len(sentences) - 1 <= count_boundaries(translation):
        return []
    last = len(sentences) - 1
    return [
        Segment(each, options_of_segment(options, is_first=place == 0, is_last=place == last))
        for place, each in enumerate(sentences)
    ]


def options_of_segment(options: TranslationOptions, *, is_first: bool, is_last: bool) -> TranslationOptions:
    prefix, contain = options.prefix if is_first else "", options.contain if is_last else ()
    if (prefix, contain) == (options.prefix, options.contain):
        return options
    return replace(options, prefix=prefix, contain=contain)


def resolve_language(
    text: str, options: TranslationOptions, tokenizer: Vocabulary
) -> tuple[str, TranslationOptions]:
    """The text without its >>language<< marker, and the options with that target language."""
    marker, rest = tokenizer.without_marker(text)
    if marker is not None and not tokenizer.languages:
        return text, options  # the model does not know such markers
    language = options.target_language
    if marker is not None and rest != text:  # the model's default is added by encoding
        language, rest = marker[2:-2], rest.lstrip()
    if language is not None and language not in tokenizer.languages:
        known = ", ".join(tokenizer.languages)
        raise InputError(
            f"this model has no target language '{language}': "
            + (f"choose from {known}." if known else "it translates into one language only.")
        )
    return rest, options if language == options.target_language else replace(
        options, target_language=language
    )


def copy_of(segment: Segment) -> Translation:
    """A segment that is copied, with the prefix and the phrases to contain. White space stays empty."""
    text, options = segment.text.strip(), segment.options
    if text:
        missing = [phrase for phrase in options.contain if not occurrences(text, phrase)]
        text = " ".join([*options.prefix.split(), text, *missing])
    return Translation(text=text, score=0.0)


def is_for_translation(text: str, protect: Sequence[Protection]) -> bool:
    """Whether there is a letter outside protected spans."""
    return has_letters(remove_spans(text, protected_spans(text, protect)))


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)
