"""Translator: text in, text out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, overload

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.core.pairs import TranslationModel, recorded_attention
from qkv.core.tape import Tape
from qkv.engine import Engine
from qkv.errors import UserError
from qkv.families.translator.alignment import Aligner, WordAttention, attention_between_words
from qkv.families.translator.architectures import built, config_from, two_stacks
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.guarantees.attempts import Attempt
from qkv.families.translator.guarantees.avoidance import avoiding, cannot_avoid, check_copied
from qkv.families.translator.guarantees.job import Reading
from qkv.families.translator.guarantees.retry import Retry
from qkv.families.translator.options import DEFAULTS, TranslationOptions, with_keywords
from qkv.families.translator.search import Request
from qkv.families.translator.segments import (
    Segment,
    copy_of,
    has_letters,
    is_for_translation,
    resolve_language,
    segments_of,
    split_request,
)
from qkv.families.translator.text_search import HALF, TextSearch
from qkv.families.translator.translations import Links, Translation, distinct, surrounded, together
from qkv.runtime.compute import Compute, computing_in, silent
from qkv.runtime.weights import build_model
from qkv.text.vocabulary import Vocabulary, load_vocabulary
from qkv.text.words import WORDS_AND_MARKS

MORE = 8  # hypotheses per segment, if the best ones contain a phrase to avoid once joined
GREEDY = TranslationOptions(beam_size=1)
Done = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """Attention of each output token on each source token, for every block and head."""

    source: list[str]
    target: list[str]
    weights: Tensor  # (blocks, H, T, S)


class Translator:
    def __init__(
        self,
        model: TranslationModel,
        tokenizer: Vocabulary,
        defaults: TranslatorDefaults,
        others: Sequence[TranslationModel] = (),
        engines: Sequence[Engine] = (),
    ):
        if defaults.aligner is not None:
            defaults.aligner.check(model)
        self.model, self.tokenizer, self.defaults = model, tokenizer, defaults
        self.others = others  # the rest of the ensemble
        self.engines = engines  # one for each model, or none at all

    def __repr__(self) -> str:
        languages = self.defaults.languages
        return f"Translator({languages.source} → {languages.target}, {len(self.tokenizer):,} tokens)"

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        kind, values = config.pop("architecture", "transformer"), config.pop("model", None)
        architecture = config_from(kind, values, f"{where}/config.json")
        defaults = from_dict(TranslatorDefaults, config, f"{where}/config.json")
        tokenizer = load_vocabulary(where / TOKENIZER_FILE)
        if len(tokenizer) != architecture.vocab_size:
            raise UserError(
                f"{where}: the tokenizer has {len(tokenizer)} tokens, but the model has {architecture.vocab_size}. "
                "These files do not belong together."
            )
        return cls(build_model(built, architecture, bundle), tokenizer, defaults)

    def facts(self) -> dict[str, str]:
        """What `qkv info` shows."""
        config, defaults = self.model.config, self.defaults
        return {
            "kind": f"translator, {defaults.languages.source} → {defaults.languages.target}",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
            "vocabulary": f"{config.vocab_size:,} tokens",
            **config.facts(),
            "longest source": f"{self.limit:,} tokens; longer text is translated in segments",
            "decoding": f"beam {defaults.beam_size}, length penalty {defaults.length_penalty:g}",
        }

    def save(self, folder: Path) -> None:
        config = {
            "architecture": self.model.architecture,
            "model": to_dict(self.model.config),
            **to_dict(self.defaults),
        }
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "translator", config, self.model.state_dict(), files)

    @overload  # a str is also a Sequence[str]; type checkers take the first signature that fits
    def translate(
        self, text: str, decoding: TranslationOptions = ..., *, done: Done | None = ..., **options: Any
    ) -> str: ...

    @overload
    def translate(
        self,
        text: Sequence[str],
        decoding: TranslationOptions = ...,
        *,
        done: Done | None = ...,
        **options: Any,
    ) -> list[str]: ...

    def translate(
        self,
        text: str | Sequence[str],
        decoding: TranslationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **options: Any,
    ) -> str | list[str]:
        """Translate one text, or many in their order. `done` receives the number of newly finished segments.

        `options` are fields of `TranslationOptions`, by name. Text without letters is returned unchanged. Long text is
        translated in segments.
        """
        texts = [text] if isinstance(text, str) else list(text)
        best = [
            translations[0].text for translations in self.hypotheses(texts, decoding, done=done, **options)
        ]
        return best[0] if isinstance(text, str) else best

    @overload
    def hypotheses(
        self, texts: str, decoding: TranslationOptions = ..., *, done: Done | None = ..., **options: Any
    ) -> list[Translation]: ...

    @overload
    def hypotheses(
        self,
        texts: Sequence[str],
        decoding: TranslationOptions = ...,
        *,
        done: Done | None = ...,
        **options: Any,
    ) -> list[list[Translation]]: ...

    def hypotheses(
        self,
        texts: str | Sequence[str],
        decoding: TranslationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **options: Any,
    ) -> list[Translation] | list[list[Translation]]:
        """The best translations of each text, best first, with scores, word scores and confidence.

        One text gives a list of translations, a list of texts gives a list of such lists. `done` receives the number of
        newly finished segments.
        """
        decoding = with_keywords(decoding, options)
        if isinstance(texts, str):
            return self.hypotheses([texts], decoding, done=done)[0]
        found = self.translate_by_segment(texts, decoding, done or silent)
        if decoding.avoid:  # joined segments and restored spans can still contain a phrase
            return self.without_avoided(texts, found, decoding)
        return [together(each, decoding.num_hypotheses) for each in found]

    def translate_by_segment(
        self, texts: Sequence[str], decoding: TranslationOptions, done: Done
    ) -> list[list[tuple[str, list[Translation]]]]:
        """The segments of each text, each with its translations."""
        segments = [self.split(text, decoding) for text in texts]
        wanted = [each for row in segments for each in row if not each.copied]
        found = iter(
            self.translate_segments([(each.text.strip(), each.options) for each in wanted], decoding, done)
        )
        return [
            [(each.text, [copy_of(each)] if each.copied else next(found)) for each in row] for row in segments
        ]

    def without_avoided(
        self,
        texts: Sequence[str],
        found: Sequence[list[tuple[str, list[Translation]]]],
        decoding: TranslationOptions,
    ) -> list[list[Translation]]:
        """Drop translations with a phrase to avoid. If none is left, search for more."""
        results = [avoiding(together(each, decoding.num_hypotheses), decoding) for each in found]
        broken = [row for row, translations in enumerate(results) if not translations]
        more = replace(decoding, num_hypotheses=max(MORE, decoding.num_hypotheses))
        again = self.translate_by_segment([texts[row] for row in broken], more, silent)
        for row, parts in zip(broken, again, strict=True):
            translations = together(parts, MORE * more.num_hypotheses)
            results[row] = avoiding(translations, decoding)[: decoding.num_hypotheses]
            if not results[row]:
                raise cannot_avoid(texts[row], translations, decoding)
        return results

    def split(self, text: str, decoding: TranslationOptions) -> list[Segment]:
        segments = split_request(text, decoding, self.tokenizer, self.limit)
        for each in segments:
            if each.copied:
                check_copied(each.text, decoding)
        return segments

    def segments(self, text: str, decoding: TranslationOptions = DEFAULTS) -> list[str]:
        """The segments that a text is translated in."""
        return segments_of(text, decoding.protect, self.tokenizer, self.limit)

    def translate_segments(
        self, segments: Sequence[tuple[str, TranslationOptions]], decoding: TranslationOptions, done: Done
    ) -> list[list[Translation]]:
        """The translations of each segment. Each segment has its own options; `decoding` holds the shared ones."""
        return Retry(self.texts, decoding).translations(segments, done) if segments else []

    @property
    def texts(self) -> TextSearch:
        return TextSearch([self.model, *self.others], self.tokenizer, self.defaults, self.engines)

    @property
    def limit(self) -> int:
        """The most tokens of one source, without the end token and the target language token."""
        reserved = 2 if self.tokenizer.languages else 1
        context = min(model.config.max_length for model in (self.model, *self.others))
        return min(self.defaults.max_source_length, context - reserved)

    # Alignment ----------------------------------------------------------------------------------------------

    @property
    def aligner(self) -> Aligner:
        return self.texts.aligner

    def word_links(self, source: str, target: str) -> Links:
        """Align the words of a translation with those of its source. A punctuation mark counts as a word."""
        return self.texts.links(source, self.tokenizer.target.encode(target), WORDS_AND_MARKS)

    def word_attention(self, source: str, target: str) -> WordAttention:
        """The attention of every head between words, for a given translation. A punctuation mark counts as a word."""
        self.model.eval()
        return attention_between_words(
            two_stacks(self.model), self.tokenizer, source, target, WORDS_AND_MARKS, self.aligner.late
        )

    # Other ways to decode -----------------------------------------------------------------------------------

    @torch.inference_mode()
    def stream(self, text: str, decoding: TranslationOptions = GREEDY, **options: Any) -> Iterator[str]:
        """Yield a translation in parts as it is decoded: greedy, or sampled.

        A segment with protected spans, terms or tags can only be checked as a whole, so it comes in one part.
        """
        decoding = with_keywords(decoding, options)
        segments = self.split(text, decoding)
        if decoding.avoid and len(segments) > 1:
            yield self.translate(text, replace(decoding, num_hypotheses=1))
            return
        for each in segments:
            if each.copied:
                yield surrounded(each.text, copy_of(each).text)
                continue
            segment, own = each.text, each.options
            job = self.texts.job(segment.strip(), own)
            if job.kept or job.wanted or job.marks or job.spellings or self.others:
                yield surrounded(segment, self.translate(segment.strip(), replace(own, num_hypotheses=1)))
                continue
            yield segment[: len(segment) - len(segment.lstrip())]
            yield from self.stream_segment(
                Attempt(reading=Reading.plain(job), no_repeat_ngram_size=own.no_repeat_ngram_size), own
            )
            yield segment[len(segment.rstrip()) :]

    def stream_segment(self, attempt: Attempt, decoding: TranslationOptions) -> Iterator[str]:
        texts = self.texts
        request, search = replace(texts.request(attempt, decoding), whole=True), texts.search(decoding)
        ids: list[int] = []
        sent = 0
        for token in texts.searcher(decoding).one_by_one(request, search):
            ids.append(token)
            text = self.tokenizer.decode(ids)
            whole = text.rstrip(HALF)  # wait for the remaining bytes of a character
            if len(whole) > sent:
                yield whole[sent:]
                sent = len(whole)
        if HALF in attempt.reading.text:  # otherwise it is a character that was cut off
            yield self.tokenizer.decode(ids)[sent:]

    def alternatives(
        self,
        text: str,
        prefix: str,
        count: int = 5,
        decoding: TranslationOptions = DEFAULTS,
        **options: Any,
    ) -> list[Translation]:
        """Translations that begin with the prefix and continue with different tokens, best first."""
        decoding, texts = with_keywords(decoding, options), self.texts
        text, decoding = resolve_language(text, decoding, self.tokenizer)
        if len(self.segments(text, decoding)) > 1 or not is_for_translation(text, decoding.protect):
            raise UserError("alternatives need one sentence that is neither empty nor too long.")
        searcher, search = texts.searcher(decoding), texts.search(decoding.likeliest())
        job = texts.job(text.strip(), replace(decoding, prefix=prefix))
        attempt = Attempt(reading=Reading.plain(job), no_repeat_ngram_size=decoding.no_repeat_ngram_size)
        request = replace(texts.request(attempt, replace(decoding, prefix=prefix)), whole=True)
        requests = [
            replace(request, prefix=(*request.prefix, token)) for token in searcher.next_ids(request, count)
        ]
        found = searcher.find(requests, search, silent)
        translations = [texts.translation(each[0], attempt.reading, decoding) for each in found]
        return distinct(sorted(avoiding(translations, decoding), key=lambda translation: -translation.score))

    def computing_in(self, compute: Compute, warn: Callable[[str], None] = silent) -> "Translator":
        """The same translator on the engine, in float32 or int8, or on torch in bf16. `warn` is called if there is no engine."""
        (model, *others), engines = computing_in([self.model, *self.others], compute, warn)
        return Translator(model, self.tokenizer, self.defaults, others, engines)

    def with_others(self, *others: "Translator") -> "Translator":
        """An ensemble with more models: the mean of their probabilities decides."""
        for other in others:
            if other.tokenizer.text() != self.tokenizer.text():
                raise UserError("the models of an ensemble must share one vocabulary.")
        return Translator(
            self.model,
            self.tokenizer,
            self.defaults,
            [*self.others, *(each for other in others for each in (other.model, *other.others))],
        )

    @torch.inference_mode()
    def attention(self, text: str) -> AttentionMap:
        """Translate greedily and return the cross-attention of every block and head."""
        if not has_letters(text) or len(self.segments(text)) > 1:
            raise UserError("an attention image needs one sentence that is neither empty nor too long.")
        config, device = self.model.config, self.model.tokens.weight.device
        self.model.eval()
        ids = self.tokenizer.encode(text.strip())
        greedy = TranslationOptions(beam_size=1, length_penalty=0.0)
        [[found]] = self.texts.searcher(greedy).find([Request(source=ids)], self.texts.search(greedy), silent)
        output = found.ids[: config.max_length - 1]  # the start token takes a position
        tape = Tape()
        source, shifted = torch.tensor([[*ids, config.end]]), torch.tensor([[config.start, *output]])
        self.model(source.to(device), shifted.to(device), tape)
        weights = [tape[recorded_attention(block)][0] for block in range(config.cross_attention_shape[0])]
        show = self.tokenizer.show
        return AttentionMap(
            source=show([*ids, config.end]),
            target=show([*output, config.end]),  # row t is the attention that led to token t
            weights=torch.stack(weights),
        )
