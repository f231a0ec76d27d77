"""TranslationService: texts in, translations out, through routes, segments, the cache and the scheduler."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from qkv.documents.markup import MarkupRules, cut_markup
from qkv.errors import InputError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Links, Translation
from qkv.server.backend import Backend, Part, join_parts
from qkv.server.cache import Cache
from qkv.server.models import Leg, Models
from qkv.server.scheduler import Scheduler
from qkv.text.glossary import Glossary
from qkv.text.protect import BY_DEFAULT, Kind

IN_THE_LOOP = 2_000  # characters: longer texts are split in a thread, so that other requests go on
NO_TERMS = Glossary()
MARKUP_KINDS: tuple[Kind, ...] = ("tags", "placeholders")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a request asks for besides its texts and languages."""

    beam_size: int | None = None
    num_hypotheses: int = 1
    protect: tuple[Kind, ...] = BY_DEFAULT
    glossary: Glossary = NO_TERMS
    alignments: bool = False
    words: bool = False
    """Also the log-probability of every word."""
    markup: MarkupRules | None = None
    """How tags are handled; None if the texts are plain."""
    patient: bool = False
    """Wait however long the queue is, for documents."""


PLAIN = Wish()


class TranslationService:
    def __init__(self, scheduler: Scheduler, cache: Cache[tuple[Translation, ...]]):
        self.scheduler, self.cache = scheduler, cache

    async def translate(
        self, models: Models, texts: Sequence[str], source: str, target: str, wish: Wish = PLAIN
    ) -> list[list[Translation]]:
        """The translations of each text, best first.

        Raises:
            InputError: There is no model for these languages.
            BusyError: Too much work waits.
        """
        if source == target:
            return [[Translation(text=text, score=0.0)] for text in texts]
        legs = models.route(source, target)
        if legs is None:
            raise InputError(f"there is no model from {source} to {target}.")
        if wish.markup is not None:
            return await self.translate_markup(legs, texts, wish, wish.markup)
        return await self.along(legs, texts, wish)

    async def translate_markup(
        self, legs: Sequence[Leg], texts: Sequence[str], wish: Wish, rules: MarkupRules
    ) -> list[list[Translation]]:
        """Cut each text at its block elements, and put the translations of the pieces in their places."""
        pieces = [cut_markup(text, rules) for text in texts]
        inner = replace(wish, protect=tuple(dict.fromkeys((*wish.protect, *MARKUP_KINDS))), markup=None)
        flat = await self.along(legs, [piece.text for row in pieces for piece in row], inner)
        found, results = iter(flat), []
        for text, row in zip(texts, pieces, strict=True):
            parts: list[Part] = []
            translations: list[list[Translation]] = []
            last = 0
            for piece in row:
                between = text[last : piece.start]
                if between:
                    parts.append(Part(between, TranslationOptions(), 0))
                    translations.append([Translation(text=between.strip(), score=0.0)])
                parts.append(Part(text[piece.start : piece.end], TranslationOptions(), 0))
                translations.append([replace(each, text=piece.restore(each.text)) for each in next(found)])
                last = piece.end
            if text[last:] or not row:
                parts.append(Part(text[last:], TranslationOptions(), 0))
                translations.append([Translation(text=text[last:].strip(), score=0.0)])
            results.append(join_parts(parts, translations, wish.num_hypotheses))
        return results

    async def along(self, legs: Sequence[Leg], texts: Sequence[str], wish: Wish) -> list[list[Translation]]:
        """Translate by one model, or by two through the pivot language."""
        *first, last = legs
        if not first:
            return await self.by_one(last, texts, wish)
        # The first model writes the terms of the target language, and the second keeps them.
        fixed = Glossary.of((term, term) for _, term in wish.glossary.terms)
        before = await self.by_one(first[0], texts, replace(wish, num_hypotheses=1, words=False))
        middle = [row[0] for row in before]
        after = await self.by_one(last, [each.text for each in middle], replace(wish, glossary=fixed))
        return [[chained(one, two) for two in row] for one, row in zip(middle, after, strict=True)]

    async def by_one(self, leg: Leg, texts: Sequence[str], wish: Wish) -> list[list[Translation]]:
        options = TranslationOptions(
            beam_size=wish.beam_size,
            num_hypotheses=wish.num_hypotheses,
            protect=wish.protect,
            glossary=wish.glossary,
            alignments=wish.alignments,
            target_language=leg.target_language,
        )
        rows = await self.split(leg.backend, texts, options)
        found = await self.parts(leg.backend, [part for row in rows for part in row], wish)
        each = iter(found)
        return [join_parts(row, [next(each) for _ in row], wish.num_hypotheses) for row in rows]

    async def alternatives(
        self,
        leg: Leg,
        text: str,
        prefix: str,
        count: int,
        alignments: bool = False,
        glossary: Glossary = NO_TERMS,
    ) -> list[Translation]:
        """Translations that begin with the prefix and continue with different tokens, best first."""
        options = TranslationOptions(
            target_language=leg.target_language, alignments=alignments, glossary=terms_in(text, glossary)
        )
        return await asyncio.to_thread(leg.backend.alternatives, text, prefix, count, options)

    async def split(
        self, backend: Backend, texts: Sequence[str], options: TranslationOptions
    ) -> list[list[Part]]:
        def split_all() -> list[list[Part]]:
            return [
                backend.split(text, replace(options, glossary=terms_in(text, options.glossary)))
                if options.glossary.terms
                else backend.split(text, options)
                for text in texts
            ]

        if sum(map(len, texts)) <= IN_THE_LOOP and len(options.glossary.terms) < 100:
            return split_all()
        return await asyncio.to_thread(split_all)

    async def parts(
        self, backend: Backend, parts: Sequence[Part], wish: Wish
    ) -> list[tuple[Translation, ...]]:
        """The translations of segments: copied, from the cache, or by the scheduler. Equal ones are translated once."""
        found: dict[object, tuple[Translation, ...]] = {}
        missing: dict[object, Part] = {}
        keys: list[object] = []
        for part in parts:
            key: object = (backend.identity, wish.words, part.options, part.text.strip())
            keys.append(key)
            if part.copied is not None or key in found or key in missing:
                continue
            cached = self.cache.get(key)
            if cached is None:
                missing[key] = part
            else:
                found[key] = cached
        if missing:
            results = await self.scheduler.translate(
                backend, list(missing.values()), words=wish.words, patient=wish.patient
            )
            for (key, part), translations in zip(missing.items(), results, strict=True):
                found[key] = tuple(translations)
                size = len(part.text) + sum(
                    len(each.text) + 8 * len(each.log_probabilities) + 16 * len(each.words)
                    for each in translations
                )
                self.cache.put(key, found[key], size)
        return [part.copied or found[key] for part, key in zip(parts, keys, strict=True)]


def terms_in(text: str, glossary: Glossary) -> Glossary:
    """The terms that can occur in a text. A large glossary as a whole would take longer than the translation."""
    lower, folded = text.lower(), text.casefold()
    return Glossary(
        tuple(
            (source, target)
            for source, target in glossary.terms
            if source.lower() in lower or source.casefold() in folded
        )
    )


def chained(first: Translation, second: Translation) -> Translation:
    """A translation through a pivot: as good as both steps together."""
    confidences = [each.confidence for each in (first, second) if each.confidence is not None]
    confidence = None
    if confidences:
        confidence = confidences[0] * (confidences[1] if len(confidences) > 1 else 1.0)
    return replace(
        second,
        score=first.score + second.score,
        confidence=confidence,
        alignment=composed(first.alignment, second.alignment),
        segments=(),  # those of the second step are in the pivot language
    )


def composed(first: Links | None, second: Links | None) -> Links | None:
    if first is None or second is None:
        return None
    onward: dict[int, list[int]] = {}
    for middle, target in second:
        onward.setdefault(middle, []).append(target)
    return sorted({(source, target) for source, middle in first for target in onward.get(middle, [])})


def glossary_from(terms: Mapping[str, str]) -> Glossary:
    return Glossary.of((source.strip(), target.strip()) for source, target in terms.items())
