"""Text in, text out: what a bundle does, with nothing else needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, overload

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.core.pairs import TranslationModel, recorded_look
from qkv.core.tape import Tape
from qkv.engine import Engine
from qkv.errors import UserError
from qkv.families.translator.alignment import Aligner, WordLooks, looks_of_words
from qkv.families.translator.answers import Answer, Links, distinct, surrounded, together
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
from qkv.runtime.compute import Compute, computing_in, silent
from qkv.runtime.weights import build_model
from qkv.text.vocabulary import Vocabulary, load_vocabulary
from qkv.text.words import FINE

MORE = 8  # hypotheses of each segment, where the best ones together have a phrase to avoid
GREEDY = TranslationOptions(beam_size=1)
Done = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """How much each word said looked at each word read, for every block and head."""

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
        self.others = others  # that decide with it
        self.engines = engines  # of all of them, or none: what computes in their place

    def __repr__(self) -> str:
        languages = self.defaults.languages
        return f"Translator({languages.source} → {languages.target}, {len(self.tokenizer):,} pieces)"

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        kind, values = config.pop("architecture", "transformer"), config.pop("model", None)
        architecture = config_from(kind, values, f"{where}/config.json")
        defaults = from_dict(TranslatorDefaults, config, f"{where}/config.json")
        tokenizer = load_vocabulary(where / TOKENIZER_FILE)
        if len(tokenizer) != architecture.vocab_size:
            raise UserError(
                f"{where}: the tokenizer has {len(tokenizer)} pieces, the model {architecture.vocab_size}; "
                f"these files do not belong together."
            )
        return cls(build_model(built, architecture, bundle), tokenizer, defaults)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config, defaults = self.model.config, self.defaults
        return {
            "kind": f"translator, {defaults.languages.source} → {defaults.languages.target}",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
            "vocabulary": f"{config.vocab_size:,} pieces",
            **config.facts(),
            "longest source": f"{self.limit:,} pieces; more is translated in parts",
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

    @overload  # a str is a sequence of str too, but the first signature that fits is taken
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
        """One text or many; the translations come in the order of the texts. `done` is told of finished texts.

        `options` are fields of `TranslationOptions`, by name. A text without any letter is returned as it is; one longer than
        those of training is translated in segments.
        """
        texts = [text] if isinstance(text, str) else list(text)
        best = [answers[0].text for answers in self.answers(texts, decoding, done=done, **options)]
        return best[0] if isinstance(text, str) else best

    @overload
    def answers(
        self, texts: str, decoding: TranslationOptions = ..., *, done: Done | None = ..., **options: Any
    ) -> list[Answer]: ...

    @overload
    def answers(
        self,
        texts: Sequence[str],
        decoding: TranslationOptions = ...,
        *,
        done: Done | None = ...,
        **options: Any,
    ) -> list[list[Answer]]: ...

    def answers(
        self,
        texts: str | Sequence[str],
        decoding: TranslationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **options: Any,
    ) -> list[Answer] | list[list[Answer]]:
        """For each text its best translations, best first, with scores and what else was asked for.

        One text gives its translations, many texts a list of those of each. `done` is told of finished segments.
        """
        decoding = with_keywords(decoding, options)
        if isinstance(texts, str):
            return self.answers([texts], decoding, done=done)[0]
        found = self.translations(texts, decoding, done or silent)
        if decoding.avoid:  # which two segments together, or a span in its place, may still contain
            return self.without_avoided(texts, found, decoding)
        return [together(each, decoding.num_hypotheses) for each in found]

    def translations(
        self, texts: Sequence[str], decoding: TranslationOptions, done: Done
    ) -> list[list[tuple[str, list[Answer]]]]:
        """For each text its segments, each with its translations."""
        segments = [self.split(text, decoding) for text in texts]
        wanted = [each for row in segments for each in row if not each.copied]
        found = iter(
            self.answer_pieces([(each.text.strip(), each.options) for each in wanted], decoding, done)
        )
        return [
            [(each.text, [copy_of(each)] if each.copied else next(found)) for each in row] for row in segments
        ]

    def without_avoided(
        self,
        texts: Sequence[str],
        found: Sequence[list[tuple[str, list[Answer]]]],
        decoding: TranslationOptions,
    ) -> list[list[Answer]]:
        """The translations without phrases to avoid; where there is none, more are searched for."""
        results = [avoiding(together(each, decoding.num_hypotheses), decoding) for each in found]
        broken = [row for row, answers in enumerate(results) if not answers]
        more = replace(decoding, num_hypotheses=max(MORE, decoding.num_hypotheses))
        again = self.translations([texts[row] for row in broken], more, silent)
        for row, parts in zip(broken, again, strict=True):
            answers = together(parts, MORE * more.num_hypotheses)
            results[row] = avoiding(answers, decoding)[: decoding.num_hypotheses]
            if not results[row]:
                raise cannot_avoid(texts[row], answers, decoding)
        return results

    def split(self, text: str, decoding: TranslationOptions) -> list[Segment]:
        segments = split_request(text, decoding, self.tokenizer, self.limit)
        for each in segments:
            if each.copied:
                check_copied(each.text, decoding)
        return segments

    def pieces_of(self, text: str, decoding: TranslationOptions = DEFAULTS) -> list[str]:
        """The segments in which a text is translated."""
        return segments_of(text, decoding.protect, self.tokenizer, self.limit)

    def answer_pieces(
        self, pieces: Sequence[tuple[str, TranslationOptions]], decoding: TranslationOptions, done: Done
    ) -> list[list[Answer]]:
        """The translations of each segment; each comes with its own options, `decoding` are those of all."""
        return Retry(self.texts, decoding).answers(pieces, done) if pieces else []

    @property
    def texts(self) -> TextSearch:
        return TextSearch([self.model, *self.others], self.tokenizer, self.defaults, self.engines)

    @property
    def limit(self) -> int:
        """The most pieces of one source, its end mark and the piece for a target language not counted."""
        marks = 2 if self.tokenizer.languages else 1
        context = min(model.config.max_length for model in (self.model, *self.others))
        return min(self.defaults.max_source_length, context - marks)

    # Alignment ----------------------------------------------------------------------------------------------

    @property
    def aligner(self) -> Aligner:
        return self.texts.aligner

    def word_links(self, source: str, target: str) -> Links:
        """Which words of a source those of a translation come from; marks count as words of their own."""
        return self.texts.links(source, self.tokenizer.target.encode(target), FINE)

    def word_looks(self, source: str, target: str) -> WordLooks:
        """Where every head looks while this translation is read, in words; marks count as words of their own."""
        self.model.eval()
        return looks_of_words(two_stacks(self.model), self.tokenizer, source, target, FINE, self.aligner.late)

    # Other ways to decode -----------------------------------------------------------------------------------

    @torch.inference_mode()
    def stream(self, text: str, decoding: TranslationOptions = GREEDY, **options: Any) -> Iterator[str]:
        """A translation bit by bit, as it is found: greedily, or drawn by chance.

        What has promises to keep can be told only when it is complete, and comes at once.
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
            piece, own = each.text, each.options
            job = self.texts.job(piece.strip(), own)
            if job.kept or job.wanted or job.marks or job.spellings or self.others:
                yield surrounded(piece, self.translate(piece.strip(), replace(own, num_hypotheses=1)))
                continue
            yield piece[: len(piece) - len(piece.lstrip())]
            yield from self.stream_piece(
                Attempt(reading=Reading.plain(job), no_repeat_ngram_size=own.no_repeat_ngram_size), own
            )
            yield piece[len(piece.rstrip()) :]

    def stream_piece(self, attempt: Attempt, decoding: TranslationOptions) -> Iterator[str]:
        texts = self.texts
        request, search = replace(texts.request(attempt, decoding), whole=True), texts.search(decoding)
        said: list[int] = []
        told = 0
        for token in texts.searcher(decoding).one_by_one(request, search):
            said.append(token)
            text = self.tokenizer.decode(said)
            whole = text.rstrip(HALF)  # a character whose bytes are not all there yet
            if len(whole) > told:
                yield whole[told:]
                told = len(whole)
        if HALF in attempt.reading.text:  # otherwise it is the beginning of a character that was cut off
            yield self.tokenizer.decode(said)[told:]

    def alternatives(
        self,
        text: str,
        prefix: str,
        count: int = 5,
        decoding: TranslationOptions = DEFAULTS,
        **options: Any,
    ) -> list[Answer]:
        """What else could stand here: answers that begin with the prefix and go on with different pieces."""
        decoding, texts = with_keywords(decoding, options), self.texts
        text, decoding = resolve_language(text, decoding, self.tokenizer)
        if len(self.pieces_of(text, decoding)) > 1 or not is_for_translation(text, decoding.protect):
            raise UserError("alternatives are for one sentence that is not empty and not too long.")
        searcher, search = texts.searcher(decoding), texts.search(decoding.likeliest())
        job = texts.job(text.strip(), replace(decoding, prefix=prefix))
        attempt = Attempt(reading=Reading.plain(job), no_repeat_ngram_size=decoding.no_repeat_ngram_size)
        request = replace(texts.request(attempt, replace(decoding, prefix=prefix)), whole=True)
        requests = [
            replace(request, prefix=(*request.prefix, token)) for token in searcher.next_ids(request, count)
        ]
        found = searcher.find(requests, search, silent)
        answers = [texts.answer(each[0], attempt.reading, decoding) for each in found]
        return distinct(sorted(avoiding(answers, decoding), key=lambda answer: -answer.score))

    def computing_in(self, compute: Compute, warn: Callable[[str], None] = silent) -> "Translator":
        """The same by the engine, in float32 or int8, or in bf16 by torch; `warn` is told if there can be no engine."""
        (model, *others), engines = computing_in([self.model, *self.others], compute, warn)
        return Translator(model, self.tokenizer, self.defaults, others, engines)

    def with_others(self, *others: "Translator") -> "Translator":
        """The same with more models, which decide together: the mean of their probabilities."""
        for other in others:
            if other.tokenizer.text() != self.tokenizer.text():
                raise UserError("models that translate together must have been trained with one vocabulary.")
        return Translator(
            self.model,
            self.tokenizer,
            self.defaults,
            [*self.others, *(each for other in others for each in (other.model, *other.others))],
        )

    @torch.inference_mode()
    def attention(self, text: str) -> AttentionMap:
        """Translate greedily, then read off the encoder-decoder attention of every block and head."""
        if not has_letters(text) or len(self.pieces_of(text)) > 1:
            raise UserError("an attention picture needs one sentence that is not empty and not too long.")
        config, device = self.model.config, self.model.tokens.weight.device
        self.model.eval()
        ids = self.tokenizer.encode(text.strip())
        greedy = TranslationOptions(beam_size=1, length_penalty=0.0)
        [[found]] = self.texts.searcher(greedy).find([Request(source=ids)], self.texts.search(greedy), silent)
        said = found.ids[: config.max_length - 1]  # the start takes a position too
        tape = Tape()
        source, shifted = torch.tensor([[*ids, config.end]]), torch.tensor([[config.start, *said]])
        self.model(source.to(device), shifted.to(device), tape)
        weights = [tape[recorded_look(block)][0] for block in range(config.looking[0])]
        show = self.tokenizer.show
        return AttentionMap(
            source=show([*ids, config.end]),
            target=show([*said, config.end]),  # row t is the look that led to word t
            weights=torch.stack(weights),
        )
