"""Between texts and ids: what a search is asked for a text, and what its hypotheses read like."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache, partial

from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from qkv.core.pairs import TranslationModel
from qkv.decoding.step import Hypothesis
from qkv.engine import Engine
from qkv.errors import UserError
from qkv.families.translator.alignment import Aligner, align
from qkv.families.translator.answers import Answer, Links, Word, features_of
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.guarantees.attempts import Attempt
from qkv.families.translator.guarantees.job import Job, Reading, completed
from qkv.families.translator.options import SEED, TranslationOptions
from qkv.families.translator.search import Request, Search, Searcher
from qkv.text.avoid import automaton
from qkv.text.vocabulary import Vocabulary
from qkv.text.whole_characters import whole_characters
from qkv.text.words import FINE, SPACED, owners, spans

HALF = "\ufffd"  # how bytes read that are no whole character


@dataclass(frozen=True)
class TextSearch:
    """One or several models of one vocabulary, or their engines."""

    models: Sequence[TranslationModel]
    tokenizer: Vocabulary
    defaults: TranslatorDefaults
    engines: Sequence[Engine]

    # What is asked --------------------------------------------------------------------------------------------

    def searcher(self, options: TranslationOptions) -> Searcher:
        automata = None
        if options.avoid:
            tables = [automaton_for(phrase, self.tokenizer) for phrase in options.avoid]
            automata = pad_sequence(tables, batch_first=True)  # (P, states, V)
        characters = partial(characters_of, self.tokenizer)  # slow, and rarely needed
        return Searcher(self.models, self.tokenizer.begins_anew, automata, self.engines, characters)

    def search(self, options: TranslationOptions) -> Search:
        defaults = self.defaults
        if options.coverage_penalty and len(self.models) > 1:
            raise UserError(
                "the coverage penalty looks into one model: it cannot be had from several at once."
            )
        return Search(
            options=options,
            beam=defaults.beam_size if options.beam_size is None else options.beam_size,
            length_penalty=(
                defaults.length_penalty if options.length_penalty is None else options.length_penalty
            ),
            look=self.aligner.cross_heads if options.coverage_penalty else None,
        )

    def job(self, text: str, options: TranslationOptions) -> Job:
        return Job.of(text, options, entities_are_words=knows_entities(self.tokenizer))

    def request(self, attempt: Attempt, options: TranslationOptions) -> Request:
        encode, reading = self.tokenizer.target.encode, attempt.reading
        prefix = self.prefix_ids(options.prefix)
        if attempt.anchor:
            prefix = [*encode(attempt.anchor), self.tokenizer.end]
        seed = SEED if options.seed is None else options.seed
        return Request(
            source=self.tokenizer.encode(asking_for(options.target_language) + reading.text),
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
        """The ids of what a translation begins with, which have to read as it does but for spaces."""
        if not prefix.strip():
            return []
        ids = self.tokenizer.target.encode(prefix)
        if self.tokenizer.decode(ids).split() != prefix.split():
            raise UserError(
                f"this model cannot write '{prefix}' as it stands there, for it has no pieces for all of its letters: "
                "give another prefix."
            )
        return ids

    def beginning(self, options: TranslationOptions) -> str:
        """What a translation begins with, as it reads."""
        return self.tokenizer.decode(self.prefix_ids(options.prefix)).rstrip()

    # What was found -------------------------------------------------------------------------------------------

    def answer(self, hypothesis: Hypothesis, reading: Reading, options: TranslationOptions) -> Answer:
        hypothesis = self.of_whole_characters(hypothesis)
        ids, language = hypothesis.ids, options.target_language
        said = self.tokenizer.decode(ids)
        text = reading.written(said)
        if reading.marks or not reading.job.is_kept_by(reading.back(said)):
            links = self.links(reading.text, ids, FINE, language)
            text = completed(reading, said, links, len(self.beginning(options)))
        confidence = self.defaults.confidence
        alignment = None
        if options.alignments:
            alignment = self.links(reading.text, ids, SPACED, language)
            if reading.left_out:
                alignment = renumbered(alignment, (reading.text, reading.job.text), (said, text))
        return Answer(
            text=text,
            score=hypothesis.score,
            log_probabilities=tuple(hypothesis.log_probabilities),
            words=self.word_scores(hypothesis, reading),
            confidence=None
            if confidence is None
            else confidence.of(features_of(hypothesis.log_probabilities)),
            alignment=alignment,
        )

    def of_whole_characters(self, hypothesis: Hypothesis) -> Hypothesis:
        """Without the first bytes of a character at the end of a translation that was cut off."""
        ids = list(hypothesis.ids)
        while not hypothesis.finished and len(ids) > 1 and self.tokenizer.decode(ids).endswith(HALF):
            ids.pop()
        if len(ids) == len(hypothesis.ids):
            return hypothesis
        return replace(hypothesis, ids=ids, log_probabilities=hypothesis.log_probabilities[: len(ids)])

    def word_scores(self, hypothesis: Hypothesis, reading: Reading) -> tuple[Word, ...]:
        """Log-probabilities of the words between spaces, those of their pieces added up; tags have none."""
        said = self.tokenizer.decode(hypothesis.ids)
        words = [reading.written(word) for word in said.split()]
        scores = [0.0] * len(words)
        places = owners(self.tokenizer.spans(hypothesis.ids), spans(said, SPACED))
        for word, score in zip(places, hypothesis.log_probabilities, strict=False):  # the end has none
            if word is not None and word < len(scores):
                scores[word] += score
        return tuple(Word(*pair) for pair in zip(words, scores, strict=True))

    @property
    def aligner(self) -> Aligner:
        return self.defaults.aligner or Aligner.for_any(self.models[0])

    def links(
        self, source: str, said: Sequence[int], pattern: re.Pattern[str], language: str | None = None
    ) -> Links:
        """Which words of a source those of its translation come from."""
        model = self.models[0]
        model.eval()
        return align(self.aligner, model, self.tokenizer, source, said, pattern, asking_for(language))


def renumbered(links: Links, source: tuple[str, str], target: tuple[str, str]) -> Links:
    """Links between words of the first texts as links between those of the second, which have more words."""
    sources, targets = (places_in(*each) for each in (source, target))
    return sorted((sources[one], targets[two]) for one, two in links if one in sources and two in targets)


def places_in(text: str, longer: str) -> dict[int, int]:
    """Where the words of a text stand in a longer one."""
    blocks = SequenceMatcher(None, text.split(), longer.split(), autojunk=False).get_matching_blocks()
    return {block.a + place: block.b + place for block in blocks for place in range(block.size)}


@lru_cache(maxsize=64)
def automaton_for(phrase: str, tokenizer: Vocabulary) -> Tensor:
    return automaton(phrase, tokenizer.piece_bytes)


@lru_cache(maxsize=8)
def characters_of(tokenizer: Vocabulary) -> Tensor | None:
    return whole_characters(tokenizer.piece_bytes, tokenizer.end)


@lru_cache(maxsize=8)
def knows_entities(tokenizer: Vocabulary) -> bool:
    """Was it learned from text with entities, as Moses' tokenizer leaves them? Then their names are pieces."""
    fewest = min(len(tokenizer.encode(entity)) for entity in ("&apos;", "&quot;"))
    return fewest <= 3  # the mark before it, its name, and the mark behind it


def asking_for(language: str | None) -> str:
    """What stands before a source for a model of several target languages."""
    return "" if language is None else f">>{language}<<"
