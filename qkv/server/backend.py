"""Backend: what the server knows about a translation model, and how segments are translated together."""

import contextlib
import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from qkv.errors import InputError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.product import Translator
from qkv.families.translator.segments import Segment, copy_of
from qkv.families.translator.translations import Translation, distinct, together
from qkv.runtime.running import silent
from qkv.server.policy import ThreadChoice
from qkv.text.protect import sign_of


@dataclass(frozen=True)
class Part:
    """A segment of a text, and its translations as soon as they are known."""

    text: str
    """With the white space around it."""
    options: TranslationOptions
    tokens: int
    plain: bool = True
    """Whether nothing in it must be kept: no tag, placeholder or term. Other segments may need several searches."""
    copied: tuple[Translation, ...] | None = None
    """The result, if there is nothing to translate."""


class Backend(Protocol):
    """A model that translates one language into one or several others. Threads share it."""

    @property
    def identity(self) -> str:
        """Changes whenever a translation can change."""
        ...

    @property
    def has_confidence(self) -> bool: ...

    def split(self, text: str, options: TranslationOptions) -> list[Part]:
        """The segments of a text."""
        ...

    def translate(self, parts: Sequence[Part], *, words: bool, alone: bool) -> list[list[Translation]]:
        """The translations of segments whose options differ in the glossary at most. `alone`: no other work is running."""
        ...

    def alternatives(
        self, text: str, prefix: str, count: int, options: TranslationOptions
    ) -> list[Translation]: ...


class TranslatorBackend:
    """A translator of qkv. It holds the weights once, and computes with one thread or with all."""

    def __init__(self, translator: Translator):
        self.translator = translator
        self.identity = "/".join(each for each in translator._content_hash() if each)
        self.has_confidence = translator._defaults.confidence is not None
        self.threads = ThreadChoice()
        self.with_all_threads = translator._pipeline
        self.with_one_thread = replace(
            self.with_all_threads, runners=[one_thread(each) for each in self.with_all_threads.runners]
        )

    def split(self, text: str, options: TranslationOptions) -> list[Part]:
        encode = self.with_one_thread.tokenizer.encode
        return [part_of(segment, encode) for segment in self.with_one_thread.split(text, options)]

    def translate(self, parts: Sequence[Part], *, words: bool, alone: bool) -> list[list[Translation]]:
        use_all, began = alone and self.threads.use_all(), time.perf_counter()
        pipeline: Pipeline = self.with_all_threads if use_all else self.with_one_thread
        segments = [(part.text.strip(), part.options) for part in parts]
        search = replace(pipeline.texts, scores_words=words)
        found = pipeline.translate_segments(segments, parts[0].options, silent, search)
        if alone:
            tokens = sum(part.tokens for part in parts)
            self.threads.measured(use_all, (time.perf_counter() - began) / max(1, tokens))
        return found

    def alternatives(
        self, text: str, prefix: str, count: int, options: TranslationOptions
    ) -> list[Translation]:
        pipeline = self.with_all_threads
        found = pipeline.alternatives(text, prefix, count, options)
        [part] = self.split(text, options)
        if part.plain:
            return found
        # These searches keep no terms and no protected spans. Search again from the words that they begin with.
        starts = dict.fromkeys(first_words(each.text, len(prefix.split()) + 1) for each in found)
        kept: list[Translation] = []
        for start in starts:
            with contextlib.suppress(InputError):  # with its terms, this one would be too long for the model
                own = replace(part.options, prefix=start)
                [row] = pipeline.translate_segments([(text.strip(), own)], own, silent, pipeline.texts)
                kept.append(row[0])
        return distinct(sorted(kept, key=lambda translation: -translation.score))


def first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


def part_of(segment: Segment, encode: Any) -> Part:
    options = segment.options
    if segment.copied:
        return Part(segment.text, options, 0, copied=(copy_of(segment),))
    plain = (
        not options.glossary.terms
        and not options.protect_pattern
        and not sign_of(frozenset(options.protect)).search(segment.text)
    )
    return Part(segment.text, options, len(encode(segment.text)) + 1, plain)


def one_thread(runner: Any) -> Any:
    """The same runner and weights, computing with one thread. Runners without threads are shared."""
    if not hasattr(runner, "threads"):
        return runner
    single = copy.copy(runner)
    single.threads = 1
    return single


def join_parts(
    parts: Sequence[Part], found: Sequence[Sequence[Translation]], count: int
) -> list[Translation]:
    """The translations of a text from those of its segments, best first."""
    return together([(part.text, list(each)) for part, each in zip(parts, found, strict=True)], count)
