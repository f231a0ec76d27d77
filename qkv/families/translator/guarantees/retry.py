"""Translations that keep every guarantee, in as few attempts as possible.

A text is first translated freely. If the result keeps every guarantee, it is used. Otherwise the text is read with
stand-ins (words that the model can copy) in place of its spans, or without the spans, and missing spans are inserted by
alignment. Only terms need a constrained search; its result must be better than the free translation with the terms
inserted. All attempts together take at most five times the steps of a plain translation.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from qkv.families.translator.guarantees.attempts import (
    Attempt,
    Budget,
    Trial,
    anchored,
    free_limit,
    missing_terms,
    spans_kept,
    words_replaced,
)
from qkv.families.translator.guarantees.job import Job, Reading
from qkv.families.translator.guarantees.repetition import is_loop, repeats_a_word
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.text_search import HALF, TextSearch
from qkv.families.translator.translations import Translation, distinct
from qkv.runtime.running import silent
from qkv.text.words import WORDS_AND_MARKS

NO_REPEAT = (3, 2)  # n-gram sizes that may not repeat, after a translation that was a loop
ABOUT_AS_LONG = 1.1  # ratio of word counts

Course = Generator[Attempt, Trial, list[Translation]]
"""Yields the attempts of one job, receives each as a trial, and returns the translations."""


class Retry:
    def __init__(self, texts: TextSearch, options: TranslationOptions):
        self.texts = texts
        self.searcher, self.search = texts.searcher(options), texts.search(options)

    def translations(
        self, segments: Sequence[tuple[str, TranslationOptions]], done: Callable[[int], None]
    ) -> list[list[Translation]]:
        """The translations of each segment, best first. Each segment has its own options.

        The next attempts of all segments are searched in one batch.
        """
        jobs = [self.texts.job(text, own) for text, own in segments]
        if any(job.must_keep or job.marks for job in jobs):  # their spans are placed by attention
            self.search = replace(self.search, align=self.texts.aligner.cross_heads)
        courses = [self.course(job, own) for job, (_, own) in zip(jobs, segments, strict=True)]
        results: list[list[Translation]] = [[] for _ in segments]
        waiting = {row: next(course) for row, course in enumerate(courses)}
        while waiting:
            requests = [self.texts.request(attempt, segments[row][1]) for row, attempt in waiting.items()]
            found = self.searcher.find(requests, self.search, done)
            done = silent  # all segments are counted in the first round
            trials = [Trial(*each) for each in zip(waiting.values(), requests, found, strict=True)]
            rows, waiting = list(waiting), {}
            for row, trial in zip(rows, trials, strict=True):
                try:
                    waiting[row] = courses[row].send(trial)
                except StopIteration as end:
                    results[row] = end.value
        return results

    def course(self, job: Job, options: TranslationOptions) -> Course:
        return self.with_guarantees(job, options) if job.must_keep else self.plain(job, options)

    def plain(self, job: Job, options: TranslationOptions) -> Course:
        """Retry only if the translation is a loop."""
        attempt = Attempt(reading=Reading.plain(job), no_repeat_ngram_size=options.no_repeat_ngram_size)
        trial = yield attempt
        for size in NO_REPEAT:
            if self.is_sound(trial, options):
                break
            trial = yield replace(
                attempt, no_repeat_ngram_size=min(size, options.no_repeat_ngram_size or size)
            )
        return self.translations_of(trial, options)

    def with_guarantees(self, job: Job, options: TranslationOptions) -> Course:
        budget = Budget(self.beams(options), self.size(job.text))
        trials: list[Trial] = []
        for reading in self.readings(job):
            trial = yield self.free_attempt(reading, budget, options)
            budget.pay(trial)
            if self.holds(trial, options):
                return self.translations_of(trial, options)
            trials.append(trial)
            if not reading.stand_ins and self.keeps_most_spans(trial, options) and not self.stand_ins(job):
                break
        sound = [trial for trial in trials if self.is_sound(trial, options)]
        if not sound:
            return (yield from self.against_loops(trials[-1], budget, options))
        base = max(reversed(sound), key=lambda trial: spans_kept(trial.attempt.reading, self.output(trial)))
        if not missing_terms(base.attempt.reading, self.output(base)):
            return self.translations_of(base, options)
        return (yield from self.with_terms(base, budget, options))

    def readings(self, job: Job) -> list[Reading]:
        """Ways to read the job, starting with the one that is least likely to need repair."""
        other = self.stand_ins(job) or Reading.without_spans(job)
        return [Reading.plain(job), *([other] if other else [])]

    def stand_ins(self, job: Job) -> Reading | None:
        return Reading.with_stand_ins(job, self.texts.defaults.stand_ins)

    def free_attempt(self, reading: Reading, budget: Budget, options: TranslationOptions) -> Attempt:
        limit = free_limit(self.size(reading.text)) + len(self.texts.prefix_ids(options.prefix))
        return Attempt(
            reading=reading,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            limit=min(limit, budget.longest_free),
        )

    def keeps_most_spans(self, trial: Trial, options: TranslationOptions) -> bool:
        """Whether the translation is worth repairing. Otherwise the spans have confused the model."""
        reading = trial.attempt.reading
        kept = 2 * spans_kept(reading, self.output(trial)) >= len(reading.names)
        return kept and self.is_sound(trial, options)

    def against_loops(self, trial: Trial, budget: Budget, options: TranslationOptions) -> Course:
        """The last attempt if no free translation is usable. What it lacks is inserted by alignment."""
        size = NO_REPEAT[0]
        if budget.left < budget.beams:
            return self.translations_of(trial, options)
        attempt = replace(
            trial.attempt,
            constrained=bool(trial.attempt.reading.job.wanted),
            no_repeat_ngram_size=min(size, options.no_repeat_ngram_size or size),
            beams=budget.beams,
            limit=budget.left // budget.beams,
        )
        return self.translations_of((yield attempt), options)

    def with_terms(self, base: Trial, budget: Budget, options: TranslationOptions) -> Course:
        """Insert terms in place of the aligned words, or use a constrained search."""
        rival, anchor = base, self.anchor(base, options)
        if anchor is not None:
            scored = yield anchor
            budget.pay(scored)
            rival = scored if self.holds(scored, options) else base
        encode, phrases = self.texts.tokenizer.target.encode, base.attempt.reading.phrases
        expected = base.steps + sum(len(encode(phrase)) for phrase in phrases)
        beams, limit = budget.constrained(expected)
        if beams > (rival is not base):  # one beam never beats an anchor
            attempt = replace(base.attempt, constrained=True, beams=beams, limit=limit)
            trial = yield attempt
            if self.holds(trial, options):
                if self.is_better(trial, rival):
                    return self.translations_of(trial, options)
                others = self.translations_of(trial, options)
                return distinct([*self.translations_of(rival, options), *others])
        return self.translations_of(rival, options)

    def anchor(self, base: Trial, options: TranslationOptions) -> Attempt | None:
        """Score the free translation with its missing terms and spans inserted; None if a place is unknown."""
        reading, output = base.attempt.reading, self.output(base)
        best, language = base.best, options.target_language
        links = self.texts.links(reading.text, best.ids, WORDS_AND_MARKS, language, best.attention)
        anchor = anchored(reading, output, links)
        if anchor is None or len(self.texts.tokenizer.target.encode(anchor)) + 2 > self.searcher.context:
            return None
        return replace(base.attempt, anchor=anchor, replaced=words_replaced(output, anchor), beams=1, limit=0)

    def is_better(self, trial: Trial, other: Trial) -> bool:
        """Whether it is likelier, loses no word and is about as long: extra words must not make up for an unlikely phrase.

        It must not contain the words that the terms replace either.
        """
        output, compared = self.output(trial), self.output(other)
        if not other.attempt.replaced.isdisjoint(WORDS_AND_MARKS.findall(output)):
            return False
        lengths = [sum(map(has_word, text.split())) for text in (output, compared)]
        if lengths[0] < lengths[1]:
            return False
        if not other.attempt.anchor:
            return True
        return lengths[0] <= ABOUT_AS_LONG * lengths[1] and trial.best.score > other.best.score

    def translations_of(self, trial: Trial, options: TranslationOptions) -> list[Translation]:
        """The hypotheses that keep every guarantee; if the best one does not, all of them, repaired."""
        chosen = trial.hypotheses
        if len(chosen) > 1 and self.holds(trial, options):
            chosen = [each for each in chosen if self.holds(replace(trial, hypotheses=[each]), options)]
        return distinct(self.texts.translation(each, trial.attempt.reading, options) for each in chosen)

    def holds(self, trial: Trial, options: TranslationOptions) -> bool:
        """Whether it is a complete translation that keeps every guarantee."""
        return self.is_sound(trial, options) and trial.attempt.holds(self.output(trial))

    def is_sound(self, trial: Trial, options: TranslationOptions) -> bool:
        """Whether it is a complete translation; a term or a span may be missing."""
        best, reading = trial.best, trial.attempt.reading
        if not best.finished or is_loop(best.ids, trial.request.source):
            return False
        output = self.output(trial)
        if HALF in output and HALF not in reading.text:
            return False
        if not output.startswith(self.texts.beginning(options)) or any(
            each in output for each in options.avoid
        ):
            return False
        return not repeats_a_word(output, [reading.text, options.prefix, *reading.phrases])

    def output(self, trial: Trial) -> str:
        return self.texts.tokenizer.decode(trial.best.ids)

    def size(self, text: str) -> int:
        return len(self.texts.tokenizer.encode(text))

    def beams(self, options: TranslationOptions) -> int:
        """The batch rows that a free translation of one text takes."""
        return options.num_hypotheses if options.sample else max(self.search.beam, options.num_hypotheses)


def has_word(text: str) -> bool:
    return any(map(str.isalnum, text))
