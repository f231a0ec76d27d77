"""Pipeline: from texts to translations, segment by segment."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qkv.core.translation import CrossHeads, TranslationRunner
from qkv.engine import Engine
from qkv.errors import InputError
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.guarantees.attempts import Attempt
from qkv.families.translator.guarantees.avoidance import avoiding, cannot_avoid, check_copied
from qkv.families.translator.guarantees.job import Reading
from qkv.families.translator.guarantees.retry import Retry
from qkv.families.translator.options import DEFAULTS, TranslationOptions
from qkv.families.translator.search import Request
from qkv.families.translator.segments import (
    Segment,
    copy_of,
    has_letters,
    is_for_translation,
    resolve_language,
    segments_of,
    sentences_if_lost,
    split_request,
)
from qkv.families.translator.shortlist import Shortlist
from qkv.families.translator.text_search import HALF, OpenDrafter, TextSearch, no_drafter
from qkv.families.translator.translations import Links, Translation, distinct, surrounded, together
from qkv.runtime.running import silent
from qkv.text.sentences import count_boundaries
from qkv.text.vocabulary import Vocabulary
from qkv.text.words import WORDS_AND_MARKS

if TYPE_CHECKING:
    import numpy as np

SEVERAL = 128  # segments per thread: fewer are not worth dividing
MORE = 8  # hypotheses per segment, if the best ones contain a phrase to avoid once joined
Done = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """Attention of each output token on each source token, for every block and head."""

    source: list[str]
    target: list[str]
    weights: "np.ndarray"  # (blocks, H, T, S)


@dataclass(frozen=True)
class Pipeline:
    """One model, or an ensemble of models with one vocabulary. It has no state, so threads can share it."""

    runners: Sequence[TranslationRunner]
    tokenizer: Vocabulary
    defaults: TranslatorDefaults
    open_drafter: OpenDrafter = field(default=no_drafter, kw_only=True)
    stored_shortlist: Shortlist | None = field(default=None, kw_only=True)

    def hypotheses(
        self, texts: Sequence[str], decoding: TranslationOptions = DEFAULTS, done: Done = silent
    ) -> list[list[Translation]]:
        """The best translations of each text, best first. `done` receives the number of newly finished segments."""
        return self.best_of(texts, decoding, done, self.texts)

    def best(self, texts: Sequence[str], decoding: TranslationOptions, done: Done = silent) -> list[str]:
        """The texts of the best translations alone, without scores."""
        found = self.best_of(texts, decoding, done, replace(self.texts, scored=False))
        return [translations[0].text for translations in found]

    def best_of(
        self, texts: Sequence[str], decoding: TranslationOptions, done: Done, search: TextSearch
    ) -> list[list[Translation]]:
        found = self.translate_by_segment(texts, decoding, done, search)
        if decoding.avoid:  # joined segments and restored spans can still contain a phrase
            return self.without_avoided(texts, found, decoding, search)
        return [together(each, decoding.num_hypotheses) for each in found]

    def translate_by_segment(
        self, texts: Sequence[str], decoding: TranslationOptions, done: Done, search: TextSearch
    ) -> list[list[tuple[str, list[Translation]]]]:
        """The segments of each text, each with its translations."""
        segments = [self.split(text, decoding) for text in texts]
        wanted = [each for row in segments for each in row if not each.copied]
        parts = [(each.text.strip(), each.options) for each in wanted]
        found = iter(self.translate_segments(parts, decoding, done, search))
        return [
            [(each.text, [copy_of(each)] if each.copied else next(found)) for each in row] for row in segments
        ]

    def without_avoided(
        self,
        texts: Sequence[str],
        found: Sequence[list[tuple[str, list[Translation]]]],
        decoding: TranslationOptions,
        search: TextSearch,
    ) -> list[list[Translation]]:
        """Drop translations with a phrase to avoid. If none is left, search for more."""
        results = [avoiding(together(each, decoding.num_hypotheses), decoding) for each in found]
        broken = [row for row, translations in enumerate(results) if not translations]
        more = replace(decoding, num_hypotheses=max(MORE, decoding.num_hypotheses))
        again = self.translate_by_segment([texts[row] for row in broken], more, silent, search)
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
        return segments_of(text, decoding.protected, self.tokenizer, self.limit)

    def translate_segments(
        self,
        segments: Sequence[tuple[str, TranslationOptions]],
        decoding: TranslationOptions,
        done: Done,
        search: TextSearch,
    ) -> list[list[Translation]]:
        """The translations of each segment. Each segment has its own options; `decoding` holds the shared ones.

        A model that was trained on single sentences can leave out all but the first. If a translation has fewer sentences
        than its segment, the sentences are translated one by one.
        """
        found = self.translate_at_once(segments, decoding, done, search)
        short = {
            row: sentences
            for row, (segment, translations) in enumerate(zip(segments, found, strict=True))
            if (sentences := sentences_if_lost(*segment, translations[0].text))
        }
        wanted = [(each.text.strip(), each.options) for row in short.values() for each in row]
        again = iter(self.translate_at_once(wanted, decoding, silent, search))
        for row, sentences in short.items():
            options = segments[row][1]
            better = together([(each.text, next(again)) for each in sentences], options.num_hypotheses)
            if has_more_sentences(better[0].text, found[row][0].text, options):
                found[row] = better
        return found

    def translate_at_once(
        self,
        segments: Sequence[tuple[str, TranslationOptions]],
        decoding: TranslationOptions,
        done: Done,
        search: TextSearch,
    ) -> list[list[Translation]]:
        if not segments:
            return []
        if (
            isinstance(self.runners[0], Engine)
            and len(segments) >= SEVERAL * self.runners[0].threads > SEVERAL
        ):
            return translate_parts(segments, decoding, done, search, self.runners[0].threads)
        return Retry(search, decoding).translations(segments, done)

    @property
    def texts(self) -> TextSearch:
        return TextSearch(
            self.runners,
            self.tokenizer,
            self.defaults,
            open_drafter=self.open_drafter,
            stored_shortlist=self.stored_shortlist,
        )

    @property
    def limit(self) -> int:
        """The most tokens of one source, without the end token and the target language token."""
        reserved = 2 if self.tokenizer.languages else 1
        context = min(runner.config.max_length for runner in self.runners)
        return min(self.defaults.max_source_length, context - reserved)

    # Other ways to decode -----------------------------------------------------------------------------------

    def stream(self, text: str, decoding: TranslationOptions) -> Iterator[str]:
        """Yield a translation in parts as it is decoded: greedy, or sampled.

        A segment with protected spans, terms or tags can only be checked as a whole, so it comes in one part.
        """
        segments = self.split(text, decoding)
        if decoding.avoid and len(segments) > 1:
            yield self.best([text], replace(decoding, num_hypotheses=1))[0]
            return
        for each in segments:
            if each.copied:
                yield surrounded(each.text, copy_of(each).text)
                continue
            segment, own = each.text, each.options
            job = self.texts.job(segment.strip(), own)
            if job.must_keep or job.marks or job.spellings or len(self.runners) > 1:
                [best] = self.best([segment.strip()], replace(own, num_hypotheses=1))
                yield surrounded(segment, best)
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
        for token in texts.searcher(decoding).general.one_by_one(request, search):
            ids.append(token)
            text = self.tokenizer.decode(ids)
            whole = text.rstrip(HALF)  # wait for the remaining bytes of a character
            if len(whole) > sent:
                yield whole[sent:]
                sent = len(whole)
        if HALF in attempt.reading.text:  # otherwise it is a character that was cut off
            yield self.tokenizer.decode(ids)[sent:]

    def alternatives(
        self, text: str, prefix: str, count: int, decoding: TranslationOptions
    ) -> list[Translation]:
        """Translations that begin with the prefix and continue with different tokens, best first."""
        texts = self.texts
        text, decoding = resolve_language(text, decoding, self.tokenizer)
        if len(self.segments(text, decoding)) > 1 or not is_for_translation(text, decoding.protected):
            raise InputError("alternatives need one sentence that is neither empty nor too long.")
        searcher, search = texts.searcher(decoding), texts.search(decoding.likeliest())
        job = texts.job(text.strip(), replace(decoding, prefix=prefix))
        attempt = Attempt(reading=Reading.plain(job), no_repeat_ngram_size=decoding.no_repeat_ngram_size)
        request = replace(texts.request(attempt, replace(decoding, prefix=prefix)), whole=True)
        requests = [
            replace(request, prefix=(*request.prefix, token))
            for token in searcher.general.next_ids(request, count)
        ]
        found = searcher.find(requests, search, silent)
        translations = [texts.translation(each[0], attempt.reading, decoding) for each in found]
        return distinct(sorted(avoiding(translations, decoding), key=lambda translation: -translation.score))

    # Attention ----------------------------------------------------------------------------------------------

    @property
    def aligner(self) -> Aligner:
        return self.texts.aligner

    def word_links(self, source: str, target: str) -> Links:
        """Align the words of a translation with those of its source. A punctuation mark counts as a word."""
        output = self.tokenizer.target.encode(target)
        longest = min(self.limit, self.runners[0].config.max_length - 1)
        for name, count in (("source", len(self.tokenizer.encode(source))), ("target", len(output))):
            if count > longest:
                raise InputError(
                    f"{name} has {count:,} tokens, and this model aligns at most {longest:,}. Shorten it."
                )
        return self.texts.links(source, output, WORDS_AND_MARKS)

    def attention(self, text: str) -> AttentionMap:
        """Translate greedily and return the cross-attention of every block and head."""
        import numpy as np

        from qkv.families.translator.alignment import forced_attention

        if not has_letters(text) or len(self.segments(text)) > 1:
            raise InputError("an attention image needs one sentence that is neither empty nor too long.")
        config = self.runners[0].config
        ids = self.tokenizer.encode(text.strip())
        greedy = TranslationOptions(beam_size=1, length_penalty=0.0)
        [[found]] = self.texts.searcher(greedy).find([Request(source=ids)], self.texts.search(greedy), silent)
        output = found.ids[: config.max_length - 1]  # the start token takes a position
        blocks, heads = config.cross_attention_shape
        weights = [
            [
                forced_attention(self.runners[0], ids, output, CrossHeads(block=block, heads=(head,)))
                for head in range(heads)
            ]
            for block in range(blocks)
        ]
        return AttentionMap(
            source=self.tokenizer.show(config.complete_source(ids)),
            target=self.tokenizer.target.show(
                [*output, config.end]
            ),  # row t is the attention that led to token t
            weights=np.array(weights),
        )


def has_more_sentences(text: str, other: str, options: TranslationOptions) -> bool:
    """Whether a joined text has more sentences than another, and no phrase to avoid arose where they were joined."""
    return count_boundaries(text) > count_boundaries(other) and not any(
        each in text for each in options.avoid
    )


def translate_parts(
    segments: Sequence[tuple[str, TranslationOptions]],
    decoding: TranslationOptions,
    done: Done,
    search: TextSearch,
    threads: int,
) -> list[list[Translation]]:
    """The translations of each segment, by several threads: one reads and writes text while others search.

    Each has an engine of one thread. Two parts for each thread, because parts take different times.
    """
    from concurrent.futures import ThreadPoolExecutor
    from threading import Lock

    alone = [each.with_one_thread() if isinstance(each, Engine) else each for each in search.runners]
    search, count, lock = replace(search, runners=alone), 2 * threads, Lock()

    def report(number: int) -> None:
        with lock:
            done(number)

    def translate(part: int) -> list[list[Translation]]:
        return Retry(search, decoding).translations(segments[part::count], report)

    found: list[list[Translation]] = [[] for _ in segments]
    with ThreadPoolExecutor(threads) as pool:
        try:
            for part, translations in enumerate(pool.map(translate, range(count))):
                found[part::count] = translations
        except BaseException:
            pool.shutdown(cancel_futures=True)  # parts that have not begun
            raise
    return found
