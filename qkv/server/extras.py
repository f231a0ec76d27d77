"""Fields that qkv adds to the interfaces of others: glossary, protected spans, confidence, alignments, hypotheses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from qkv.documents.markup import MarkupRules
from qkv.errors import InputError
from qkv.families.translator.translations import Translation, surrounded
from qkv.server.errors import ApiError
from qkv.server.models import Models
from qkv.server.options import ServeOptions
from qkv.server.schema import FieldError, Limits
from qkv.server.translation import Wish, glossary_from
from qkv.text.glossary import Glossary
from qkv.text.protect import BY_DEFAULT, KINDS, Kind

MOST_TERMS = 1_000  # in a request; stored glossaries can have more


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Fields beyond LibreTranslate's."""

    glossary: dict[str, str] = field(default_factory=dict)
    """Source terms and their translations, which are used exactly."""
    protect: tuple[str, ...] | None = None
    """What is copied unchanged: placeholders, tags, urls, emails, numbers; or none."""
    confidence: bool = False
    """Also return the probability that each translation is good."""
    min_confidence: Annotated[float | None, Limits(0, 1)] = None
    """Also return whether the confidence of each translation is lower than this."""
    alignments: bool = False
    """Also return pairs of a source word and a target word, split at spaces and counted from 0."""
    words: bool = False
    """Also return the words of each translation with their probabilities."""
    segments: bool = False
    """Also return the segments of each text: source, target, confidence, words and alignments."""
    num_hypotheses: Annotated[int, Limits(1, 100)] = 1
    """Also return this many translations of each text, best first, with their scores."""


def wish_from(
    extras: Extras,
    options: ServeOptions,
    alternatives: int = 0,
    markup: MarkupRules | None = None,
    glossary: Glossary | None = None,
) -> Wish:
    most = options.max_alternatives + 1
    if extras.num_hypotheses > most:
        raise FieldError("num_hypotheses", f"must be <= {most}")
    return Wish(
        beam_size=options.beam_size,
        num_hypotheses=max(extras.num_hypotheses, alternatives + 1),
        protect=protected_kinds(extras.protect),
        glossary=glossary or read_glossary(extras.glossary),
        alignments=extras.alignments or extras.segments,
        words=extras.words or extras.segments,
        markup=markup,
    )


def read_glossary(terms: dict[str, str]) -> Glossary:
    if len(terms) > MOST_TERMS:
        raise FieldError("glossary", f"must have at most {MOST_TERMS:,} terms")
    if not all(source.strip() and target.strip() for source, target in terms.items()):
        raise FieldError("glossary", "must have a source term and a translation in every entry")
    return glossary_from(terms)


def protected_kinds(names: Sequence[str] | None) -> tuple[Kind, ...]:
    if names is None:
        return BY_DEFAULT
    wanted = [name.strip() for each in names for name in each.split(",") if name.strip()]
    if wanted in ([], ["none"]):
        return ()
    known = tuple(kind for name in wanted for kind in KINDS if kind == name)
    if len(known) < len(wanted):
        raise FieldError("protect", f"accepts {', '.join(KINDS)} or none")
    return known


def check_confidence(extras: Extras, models: Models, pairs: Sequence[tuple[str, str]]) -> None:
    """A minimum confidence needs models that were calibrated."""
    if extras.min_confidence is None:
        return
    for pair in set(pairs):
        legs = models.route(*pair) or ()
        if not all(leg.backend.has_confidence for leg in legs):
            raise InputError(
                f"the model from {pair[0]} to {pair[1]} has no calibrated confidence: min_confidence cannot be used."
            )


def extra_answers(extras: Extras, text: str, found: Sequence[Translation]) -> dict[str, Any]:
    """What the extra fields of a request add to the answer for one text."""
    best, answers = found[0], dict[str, Any]()
    if extras.confidence or extras.min_confidence is not None:
        answers["confidence"] = rounded(best.confidence)
    if extras.min_confidence is not None:
        answers["unsure"] = best.confidence is not None and best.confidence < extras.min_confidence
    if extras.alignments:
        answers["alignments"] = written_links(best)
    if extras.words:
        answers["words"] = written_words(best)
    if extras.segments:
        answers["segments"] = [
            {
                "source": source,
                "target": surrounded(source, each.text.strip()),
                "confidence": rounded(each.confidence),
                "words": written_words(each),
                "alignments": written_links(each),
            }
            for source, each in best.segments or ((text, best),)
        ]
    if extras.num_hypotheses > 1:
        answers["hypotheses"] = [
            {"text": each.text, "score": rounded(each.score), "confidence": rounded(each.confidence)}
            for each in found[: extras.num_hypotheses]
        ]
    return answers


def written_words(translation: Translation) -> list[dict[str, Any]]:
    return [
        {"text": word.text, "probability": rounded(math.exp(min(0.0, word.log_probability)))}
        for word in translation.words
    ]


def written_links(translation: Translation) -> list[list[int]]:
    return [list(pair) for pair in translation.alignment or []]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def check_texts(texts: Sequence[str], options: ServeOptions) -> None:
    """Limits per request, in LibreTranslate's words."""
    if len(texts) > options.max_texts:
        raise ApiError(400, limit_sentence(len(texts), options.max_texts))
    for text in texts:
        if len(text) > options.max_characters:
            raise ApiError(400, limit_sentence(len(text), options.max_characters))


def limit_sentence(size: int, most: int) -> str:
    return f"Invalid request: request ({size}) exceeds text limit ({most})"
