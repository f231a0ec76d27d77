"""From texts to search requests, and from hypotheses back to text."""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from qkv.core.translation import TranslationRunner
from qkv.decoding.hypothesis import Hypothesis
from qkv.engine import Engine
from qkv.errors import InputError
from qkv.families.translator.aligner import Aligner
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.guarantees.attempts import Attempt
from qkv.families.translator.guarantees.job import Job, Reading, completed
from qkv.families.translator.options import SEED, TranslationOptions
from qkv.families.translator.search import Request, Search, Searcher
from qkv.families.translator.shortlist import Shortlist
from qkv.families.translator.translations import Links, Translation, Word, features_of
from qkv.families.translator.vocabulary_tables import VocabularyTables, tables_of
from qkv.flags import OptionMessageError
from qkv.text.vocabulary import Vocabulary
from qkv.text.words import SPACE_SEPARATED, WORDS_AND_MARKS, spans, words_of_tokens

if TYPE_CHECKING:
    import numpy as np

OpenDrafter = Callable[[str], Engine | None]  # opens the model in a folder; None if the engine cannot run it
HALF = "\ufffd"  # how an incomplete character decodes


def no_drafter(folder: str) -> None:
    """For models that are not opened from a bundle."""


@dataclass(frozen=True)
class TextSearch:
    """One or more models of one vocabulary."""

    runners: Sequence[TranslationRunner]
    tokenizer: Vocabulary
    defaults: TranslatorDefaults
    scored: bool = True  # False skips all scores, and greedy search then needs no log-probabilities
    scores_words: bool = True  # False skips the scores of words, the slowest part
    open_drafter: OpenDrafter = field(default=no_drafter, kw_only=True)
    stored_shortlist: Shortlist | None = field(default=None, kw_only=True)

    @property
    def tables(self) -> VocabularyTables:
        return tables_of(self.tokenizer)

    # Requests --------------------------------------------------------------------------------------------

    def searcher(self, options: TranslationOptions) -> Searcher:
        automata = None
        if options.avoid:
            from qkv.text.avoid import stack_tables

            tables = [self.tables.automaton(phrase, self.tokenizer) for phrase in options.avoid]
            automata = stack_tables(tables)  # (P, states, V)
        boundary = partial(
            getattr, self.tokenizer, "starts_word"
        )  # slow, and rarely needed, like the next one
        characters = partial(self.tables.whole_characters, self.tokenizer)
        drafter = None if options.draft is None else self.open_drafter(options.draft)
        return Searcher(self.runners, boundary, automata, characters, drafter, self.stored_shortlist)

    def search(self, options: TranslationOptions) -> Search:
        defaults = self.defaults
        if options.coverage_penalty and len(self.runners) > 1:
            raise InputError(
                "the coverage penalty needs the attention of a single model: it cannot be used with an ensemble."
            )
        beam = defaults.beam_size if options.beam_size is None else options.beam_size
        if options.draft is not None and (beam > 1 or options.sample):
            raise OptionMessageError("{draft} is for greedy search: set {beam_size} to 1, without {sample}.")
        return Search(
            options=options,
            beam=beam,
            length_norm=defaults.length_norm,
            length_penalty=(
                defaults.length_penalty if options.length_penalty is None else options.length_penalty
            ),
            look=self.aligner.cross_heads if options.coverage_penalty else None,
            align=self.aligner.cross_heads if options.alignments else None,
            scored=self.scored,
        )

    def job(self, text: str, options: TranslationOptions) -> Job:
        return Job.of(text, options, entities_are_words=self.tables.knows_entities(self.tokenizer.encode))

    def request(self, attempt: Attempt, options: TranslationOptions) -> Request:
        encode, reading = self.tokenizer.target.encode, attempt.reading
        prefix = self.prefix_ids(options.prefix)
        if attempt.anchor:
            prefix = [*encode(attempt.anchor), self.tokenizer.end]
        seed = SEED if options.seed is None else options.seed
        return Request(
            source=self.tokenizer.encode(language_marker(options.target_language) + reading.text),
            prefix=tuple(prefix),
            contain=tuple(tuple(encode(phrase)) for phrase in reading.phrases) if attempt.constrained else (),
            once=len(set(reading.stand_ins or reading.job.kept_texts)),
            avoid=tuple(range(len(options.avoid))),
            no_repeat_ngram_size=attempt.no_repeat_ngram_size,
            whole=options.sample or attempt.constrained or attempt.no_repeat_ngram_size > 0,
            seed=zlib.crc32(f"{seed} {reading.text}".encode()),
            limit=attempt.limit,
            beams=attempt.beams,
        )

    def prefix_ids(self, prefix: str) -> list[int]:
        """The ids of the prefix, which must decode to the prefix, apart from spaces."""
        if not prefix.strip():
            return []
        ids = self.tokenizer.target.encode(prefix)
        if self.tokenizer.decode(ids).split() != prefix.split():
            raise InputError(
                f"this model cannot write the prefix '{prefix}', because it has no tokens for some of its characters: "
                "use another prefix."
            )
        return ids

    def beginning(self, options: TranslationOptions) -> str:
        """The prefix as the model writes it."""
        if not options.prefix:
            return ""
        return self.tokenizer.decode(self.prefix_ids(options.prefix)).rstrip()

    # Results -------------------------------------------------------------------------------------------

    def translation(
        self, hypothesis: Hypothesis, reading: Reading, options: TranslationOptions
    ) -> Translation:
        hypothesis = self.without_partial_character(hypothesis)
        ids, language = hypothesis.ids, options.target_language
        output = self.tokenizer.decode(ids)
        text = reading.written(output)
        job = reading.job
        if job.marks or (job.must_keep and not job.is_kept_by(reading.back(output))):
            links = self.links(reading.text, ids, WORDS_AND_MARKS, language, hypothesis.attention)
            text = completed(reading, output, links, len(self.beginning(options)))
        confidence = self.defaults.confidence if self.scored else None
        alignment = None
        if options.alignments:
            alignment = self.links(reading.text, ids, SPACE_SEPARATED, language, hypothesis.attention)
            if reading.left_out:
                alignment = renumbered(alignment, (reading.text, reading.job.text), (output, text))
        return Translation(
            text=text,
            score=hypothesis.score,
            log_probabilities=tuple(hypothesis.log_probabilities),
            words=self.word_scores(hypothesis, reading, output) if self.scored and self.scores_words else (),
            confidence=None
            if confidence is None
            else confidence.of(features_of(hypothesis.log_probabilities)),
            alignment=alignment,
        )

    def without_partial_character(self, hypothesis: Hypothesis) -> Hypothesis:
        """Drop the first bytes of a character at the end of a truncated translation."""
        ids = list(hypothesis.ids)
        while not hypothesis.finished and len(ids) > 1 and self.tokenizer.decode(ids).endswith(HALF):
            ids.pop()
        if len(ids) == len(hypothesis.ids):
            return hypothesis
        return replace(hypothesis, ids=ids, log_probabilities=hypothesis.log_probabilities[: len(ids)])

    def word_scores(self, hypothesis: Hypothesis, reading: Reading, output: str) -> tuple[Word, ...]:
        """The log-probability of each word (split at spaces): the sum over its tokens. Tags have none."""
        words = [reading.written(word) for word in output.split()]
        scores = [0.0] * len(words)
        places = words_of_tokens(self.tokenizer.spans(hypothesis.ids), spans(output, SPACE_SEPARATED))
        for word, score in zip(
            places, hypothesis.log_probabilities, strict=False
        ):  # the end token belongs to no word
            if word is not None and word < len(scores):
                scores[word] += score
        return tuple(Word(*pair) for pair in zip(words, scores, strict=True))

    @property
    def aligner(self) -> Aligner:
        return self.defaults.aligner or Aligner.for_any(self.runners[0].config)

    def links(
        self,
        source: str,
        output: Sequence[int],
        pattern: re.Pattern[str],
        language: str | None = None,
        recorded: "np.ndarray | None" = None,
    ) -> Links:
        """Align the words of a translation with those of its source. `recorded` is the attention of the search."""
        from qkv.families.translator.alignment import align, rows_of

        def attention(ids: Sequence[int]) -> "np.ndarray":
            # A hypothesis that was truncated lacks the step that would read its last token.
            if recorded is not None and len(recorded) >= len(output) + self.aligner.late:
                return rows_of(recorded, len(output), self.aligner.late)
            return self.aligner.attention(self.runners[0], ids, output)

        return align(attention, self.tokenizer, source, output, pattern, language_marker(language))


def renumbered(links: Links, source: tuple[str, str], target: tuple[str, str]) -> Links:
    """Renumber links between the first texts for the second ones, which have more words."""
    sources, targets = (places_in(*each) for each in (source, target))
    return sorted((sources[one], targets[two]) for one, two in links if one in sources and two in targets)


def places_in(text: str, longer: str) -> dict[int, int]:
    """The index of each word of a text in a longer text."""
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, text.split(), longer.split(), autojunk=False).get_matching_blocks()
    return {block.a + place: block.b + place for block in blocks for place in range(block.size)}


def language_marker(language: str | None) -> str:
    """What precedes a source for a model with several target languages."""
    return "" if language is None else f">>{language}<<"
