"""Text in, text out: what a bundle does, with nothing else needed."""

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self, overload

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.core.pairs import TranslationModel, recorded_look
from qkv.core.tape import Tape
from qkv.decoding.step import Hypothesis
from qkv.engine import Engine
from qkv.errors import UserError
from qkv.families.loading import load_weights
from qkv.families.translator.alignment import Aligner, WordLooks, align, looks_of_words
from qkv.families.translator.answers import Answer, Links, Word, distinct, features_of, surrounded, together
from qkv.families.translator.architectures import built, config_from, two_stacks
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.guarantees.job import (
    Attempt,
    Job,
    Reading,
    anchored,
    attempts,
    completed,
    words_replaced,
)
from qkv.families.translator.guarantees.repetition import is_loop, repeats_a_word
from qkv.families.translator.options import DEFAULTS, SEED, Decoding, with_keywords
from qkv.families.translator.search import Request, Search, Searcher
from qkv.runtime.compute import Compute, computing_in, silent
from qkv.text.avoid import automaton
from qkv.text.protect import BY_DEFAULT, Kind, lines_around, protected_spans, split_around, without
from qkv.text.vocabulary import Vocabulary, load_vocabulary
from qkv.text.whole_characters import whole_characters
from qkv.text.words import FINE, SPACED, owners, spans

ABOUT_AS_LONG = 1.1  # times as many words
CLEARLY = 1.0  # by how much a score is better where lengths tell nothing
HALF = "\ufffd"  # how bytes read that are no whole character
GREEDY = Decoding(beam=1)
Done = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """How much each word said looked at each word read, for every block and head."""

    source: list[str]
    target: list[str]
    weights: Tensor  # (blocks, H, T, S)


@dataclass(frozen=True)
class Trial:
    """An attempt, and what came of it."""

    attempt: Attempt
    request: Request
    hypotheses: list[Hypothesis]

    @property
    def score(self) -> float:
        return self.hypotheses[0].score


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
        tokenizer = load_vocabulary(where / TOKENIZER_FILE)
        kind, values = config.pop("architecture", "transformer"), config.pop("model", None)
        model = built(config_from(kind, values, f"{where}/config.json"))
        defaults = from_dict(TranslatorDefaults, config, f"{where}/config.json")
        if len(tokenizer) != model.config.vocab:
            raise UserError(
                f"{where}: the tokenizer has {len(tokenizer)} pieces, the model {model.config.vocab}; "
                f"these files do not belong together."
            )
        load_weights(model, bundle.weights, str(where))
        return cls(model, tokenizer, defaults)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config, defaults = self.model.config, self.defaults
        return {
            "kind": f"translator, {defaults.languages.source} → {defaults.languages.target}",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
            "vocabulary": f"{config.vocab:,} pieces",
            **config.facts(),
            "longest source": f"{self.limit:,} pieces; more is translated in parts",
            "decoding": f"beam {defaults.beam}, length penalty {defaults.length_penalty:g}",
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
        self, text: str, decoding: Decoding = ..., *, done: Done | None = ..., **options: Any
    ) -> str: ...

    @overload
    def translate(
        self, text: Sequence[str], decoding: Decoding = ..., *, done: Done | None = ..., **options: Any
    ) -> list[str]: ...

    def translate(
        self,
        text: str | Sequence[str],
        decoding: Decoding = DEFAULTS,
        *,
        done: Done | None = None,
        **options: Any,
    ) -> str | list[str]:
        """One text or many; the translations come in the order of the texts. `done` is told of finished texts.

        `options` are fields of `Decoding`, by name. A text without any letter is returned as it is; one longer than
        those of training is translated in segments.
        """
        texts = [text] if isinstance(text, str) else list(text)
        best = [answers[0].text for answers in self.answers(texts, decoding, done=done, **options)]
        return best[0] if isinstance(text, str) else best

    @overload
    def answers(
        self, texts: str, decoding: Decoding = ..., *, done: Done | None = ..., **options: Any
    ) -> list[Answer]: ...

    @overload
    def answers(
        self, texts: Sequence[str], decoding: Decoding = ..., *, done: Done | None = ..., **options: Any
    ) -> list[list[Answer]]: ...

    def answers(
        self,
        texts: str | Sequence[str],
        decoding: Decoding = DEFAULTS,
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
        pieces = [
            (index, piece, own)
            for index, text in enumerate(texts)
            for piece, own in self.shared_out(text, decoding)
        ]
        wanted = [(piece.strip(), own) for _, piece, own in pieces if own is not None]
        found = iter(self.answer_pieces(wanted, decoding, done or silent))
        answers: list[list[tuple[str, list[Answer]]]] = [[] for _ in texts]
        for index, piece, asked in pieces:
            each = next(found) if asked is not None else [Answer(text=piece.strip(), score=0.0)]
            answers[index].append((piece, each))
        return [together(each, decoding.nbest) for each in answers]

    def shared_out(self, text: str, decoding: Decoding) -> list[tuple[str, Decoding | None]]:
        """The pieces of a text, and what is wanted of each; None for one that is copied.

        The first begins with the prefix, and the last has what must be contained.
        """
        text, decoding = self.asked(text, decoding)
        parts = self.pieces_of(text, decoding.protect)
        worth = dict.fromkeys(
            place for place, part in enumerate(parts) if is_for_translation(part, decoding.protect)
        )
        first, last = min(worth, default=0), max(worth, default=0)
        return [
            (
                part,
                replace(
                    decoding,
                    prefix=decoding.prefix if place == first else "",
                    contain=decoding.contain if place == last else (),
                )
                if place in worth
                else None,
            )
            for place, part in enumerate(parts)
        ]

    def pieces_of(self, text: str, protect: Sequence[Kind] = BY_DEFAULT) -> list[str]:
        """The text in pieces that the model can take: its lines, and parts of a long line; no protected span is cut."""

        def size(part: str) -> int:
            return len(self.tokenizer.encode(part.strip()))

        lines = lines_around(text, protect) or [text]
        return [piece for line in lines for piece in split_around(line, protect, size, self.limit)]

    def asked(self, text: str, decoding: Decoding) -> tuple[str, Decoding]:
        """The text without what asks for a target language, and that language with what else is wanted."""
        marker, rest = self.tokenizer.without_marker(text)
        if marker is not None and not self.tokenizer.languages:
            return text, decoding  # nobody has taught it what that means
        language = decoding.language
        if marker is not None and rest != text:  # where it is the model's default, encoding adds it
            language, rest = marker[2:-2], rest.lstrip()
        if language is not None and language not in self.tokenizer.languages:
            known = ", ".join(self.tokenizer.languages)
            raise UserError(
                f"this model knows no target language '{language}': "
                + (f"ask for one of {known}." if known else "it translates into one only.")
            )
        return rest, replace(decoding, language=language)

    @property
    def limit(self) -> int:
        """The most pieces of one source, its end mark and the piece for a target language not counted."""
        marks = 2 if self.tokenizer.languages else 1
        context = min(model.config.context for model in (self.model, *self.others))
        return min(self.defaults.longest, context - marks)

    def answer_pieces(
        self, pieces: Sequence[tuple[str, Decoding]], decoding: Decoding, done: Callable[[int], None]
    ) -> list[list[Answer]]:
        """Freely first; what breaks a promise is tried again under stricter rules, and at last mended.

        Each piece comes with what is wanted of it; `decoding` is what is wanted of all.
        """
        searcher, search = self.searcher(decoding), self.search(decoding)
        ways = [
            attempts(self.job(piece, own), self.defaults.stand_ins, own.no_repeat) for piece, own in pieces
        ]
        results: list[list[Answer]] = [[] for _ in pieces]
        competing: dict[int, Trial] = {}
        waiting = list(range(len(pieces)))
        while waiting:
            now = [ways[row].pop(0) for row in waiting]
            requests = [
                self.request(attempt, pieces[row][1]) for row, attempt in zip(waiting, now, strict=True)
            ]
            found = searcher.find(requests, search, done)
            done = silent  # every piece was counted
            asked, waiting = waiting, []
            for row, *parts in zip(asked, now, requests, found, strict=True):
                trial, own = Trial(*parts), pieces[row][1]  # type: ignore[arg-type]
                holds = self.holds(trial.hypotheses[0], trial, own)
                if trial.attempt.anchor:
                    if holds:
                        competing[row] = trial
                    waiting.append(row)
                elif not holds and ways[row]:
                    ways[row][:0] = self.anchored_attempt(trial, ways[row], own.language)
                    waiting.append(row)
                else:
                    results[row] = self.answers_of(trial, own)
                    rival = competing.get(row)
                    if rival is not None and not (holds and self.is_better(trial, rival)):
                        results[row] = distinct(
                            [*self.answers_of(rival, own), *(results[row] if holds else [])]
                        )
        return results

    def job(self, piece: str, decoding: Decoding) -> Job:
        return Job.of(piece, decoding, entities_are_words=knows_entities(self.tokenizer))

    def anchored_attempt(
        self, trial: "Trial", later: Sequence[Attempt], language: str | None
    ) -> list[Attempt]:
        """For a free translation that lacks a term or a span: the same with that in its place, if the place is known.

        With stand-ins where there are such, to compete with what is said under constraints.
        """
        attempt, ids = trial.attempt, trial.hypotheses[0].ids
        reading, said = attempt.reading, self.tokenizer.decode(ids)
        if attempt.constrained or attempt.no_repeat or not (reading.job.kept or reading.job.wanted):
            return []
        if reading.job.kept and not reading.stand_ins and any(each.reading.stand_ins for each in later):
            return []
        anchor = anchored(reading, said, self.links(reading.text, ids, FINE, language))
        room = min(model.config.context for model in (self.model, *self.others))
        if anchor is None or len(self.tokenizer.target.encode(anchor)) + 2 > room:
            return []
        return [replace(attempt, anchor=anchor, replaced=words_replaced(said, anchor))]

    def is_better(self, trial: "Trial", other: "Trial") -> bool:
        """Likelier, and about as long: what was left out, and babble that makes up for an unlikely phrase, are no merits.

        Nor is a term beside the word in whose place it belongs, however likely that may be.
        """
        said = [self.tokenizer.decode(each.hypotheses[0].ids) for each in (trial, other)]
        if not other.attempt.replaced.isdisjoint(FINE.findall(said[0])):
            return False
        lengths = [len(each.split()) for each in said]
        if max(lengths) <= ABOUT_AS_LONG * min(lengths):
            return trial.score > other.score
        return not trial.attempt.reading.job.wanted and trial.score > other.score + CLEARLY

    def answers_of(self, trial: "Trial", decoding: Decoding) -> list[Answer]:
        """Those of its hypotheses that hold, or, where the first does not, all of them mended."""
        chosen = trial.hypotheses
        if self.holds(chosen[0], trial, decoding):
            chosen = [each for each in chosen if self.holds(each, trial, decoding)]
        return distinct(self.answer(each, trial.attempt.reading, decoding) for each in chosen)

    def searcher(self, decoding: Decoding) -> Searcher:
        automata = None
        if decoding.avoid:
            tables = [automaton_for(phrase, self.tokenizer) for phrase in decoding.avoid]
            automata = pad_sequence(tables, batch_first=True)  # (P, states, V)
        models = [self.model, *self.others]
        characters = partial(characters_of, self.tokenizer)  # which takes a moment, and is seldom asked for
        return Searcher(models, self.tokenizer.begins_anew, automata, self.engines, characters)

    def search(self, decoding: Decoding) -> Search:
        defaults = self.defaults
        if decoding.coverage_penalty and self.others:
            raise UserError(
                "the coverage penalty looks into one model: it cannot be had from several at once."
            )
        return Search(
            options=decoding,
            beam=defaults.beam if decoding.beam is None else decoding.beam,
            length_penalty=(
                defaults.length_penalty if decoding.length_penalty is None else decoding.length_penalty
            ),
            look=self.aligner.cross_heads if decoding.coverage_penalty else None,
        )

    def request(self, attempt: Attempt, decoding: Decoding) -> Request:
        encode, reading = self.tokenizer.target.encode, attempt.reading
        prefix = self.prefix_ids(decoding.prefix)
        if attempt.anchor:
            prefix = [*encode(attempt.anchor), self.tokenizer.end]
        return Request(
            source=self.tokenizer.encode(asking_for(decoding.language) + reading.text),
            prefix=tuple(prefix),
            contain=tuple(tuple(encode(phrase)) for phrase in reading.phrases) if attempt.constrained else (),
            once=len(set(reading.stand_ins or reading.job.kept_texts)),
            avoid=tuple(range(len(decoding.avoid))),
            no_repeat=attempt.no_repeat,
            whole=decoding.sample or attempt.constrained or attempt.no_repeat > 0,
            seed=zlib.crc32(f"{SEED if decoding.seed is None else decoding.seed} {reading.text}".encode()),
        )

    def prefix_ids(self, prefix: str) -> list[int]:
        """The ids of what an answer begins with, which have to read as it does but for spaces."""
        if not prefix.strip():
            return []
        ids = self.tokenizer.target.encode(prefix)
        if self.tokenizer.decode(ids).split() != prefix.split():
            raise UserError(
                f"this model cannot write '{prefix}' as it stands there, for it has no pieces for all of its letters: "
                "give another prefix."
            )
        return ids

    def holds(self, hypothesis: Hypothesis, trial: "Trial", decoding: Decoding) -> bool:
        """Is it a whole translation that keeps what was promised?"""
        if not hypothesis.finished or is_loop(hypothesis.ids, trial.request.source):
            return False
        said, reading = self.tokenizer.decode(hypothesis.ids), trial.attempt.reading
        if HALF in said and HALF not in reading.text:
            return False
        begins = self.tokenizer.decode(self.prefix_ids(decoding.prefix)).rstrip()
        if not said.startswith(begins) or any(each in said for each in decoding.avoid):
            return False
        if repeats_a_word(said, [reading.text, decoding.prefix, *reading.phrases]):
            return False
        return trial.attempt.holds(said)

    def answer(self, hypothesis: Hypothesis, reading: Reading, decoding: Decoding) -> Answer:
        hypothesis = self.of_whole_characters(hypothesis)
        ids, language = hypothesis.ids, decoding.language
        said = self.tokenizer.decode(ids)
        text = reading.written(said)
        if reading.marks or not reading.job.is_kept_by(reading.back(said)):
            text = completed(reading, said, self.links(reading.text, ids, FINE, language))
        confidence = self.defaults.confidence
        return Answer(
            text=text,
            score=hypothesis.score,
            log_probabilities=tuple(hypothesis.log_probabilities),
            words=self.word_scores(hypothesis, reading),
            confidence=None
            if confidence is None
            else confidence.of(features_of(hypothesis.log_probabilities)),
            alignment=self.links(reading.text, ids, SPACED, language) if decoding.alignments else None,
        )

    def of_whole_characters(self, hypothesis: Hypothesis) -> Hypothesis:
        """Without the first bytes of a character at the end of an answer that was cut off."""
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

    # Alignment ----------------------------------------------------------------------------------------------

    @property
    def aligner(self) -> Aligner:
        return self.defaults.aligner or Aligner.for_any(self.model)

    def links(
        self, source: str, said: Sequence[int], pattern: re.Pattern[str], language: str | None = None
    ) -> Links:
        self.model.eval()
        asking = asking_for(language)
        return align(self.aligner, self.model, self.tokenizer, source, said, pattern, asking)

    def word_links(self, source: str, target: str) -> Links:
        """Which words of a source those of a translation come from; marks count as words of their own."""
        return self.links(source, self.tokenizer.target.encode(target), FINE)

    def word_looks(self, source: str, target: str) -> WordLooks:
        """Where every head looks while this translation is read, in words; marks count as words of their own."""
        self.model.eval()
        return looks_of_words(two_stacks(self.model), self.tokenizer, source, target, FINE, self.aligner.late)

    # Other ways to decode -----------------------------------------------------------------------------------

    @torch.inference_mode()
    def stream(self, text: str, decoding: Decoding = GREEDY, **options: Any) -> Iterator[str]:
        """A translation bit by bit, as it is found: greedily, or drawn by chance.

        What has promises to keep can be told only when it is complete, and comes at once.
        """
        decoding = with_keywords(decoding, options)
        for piece, own in self.shared_out(text, decoding):
            if own is None:
                yield piece
                continue
            job = self.job(piece.strip(), own)
            if job.kept or job.wanted or job.marks or job.spellings or self.others:
                yield surrounded(piece, self.answer_pieces([(piece.strip(), own)], own, silent)[0][0].text)
                continue
            yield piece[: len(piece) - len(piece.lstrip())]
            yield from self.stream_piece(Attempt(reading=Reading.plain(job), no_repeat=own.no_repeat), own)
            yield piece[len(piece.rstrip()) :]

    def stream_piece(self, attempt: Attempt, decoding: Decoding) -> Iterator[str]:
        request, search = replace(self.request(attempt, decoding), whole=True), self.search(decoding)
        said: list[int] = []
        told = 0
        for token in self.searcher(decoding).one_by_one(request, search):
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
        decoding: Decoding = DEFAULTS,
        **options: Any,
    ) -> list[Answer]:
        """What else could stand here: answers that begin with the prefix and go on with different pieces."""
        text, decoding = self.asked(text, with_keywords(decoding, options))
        if len(self.pieces_of(text, decoding.protect)) > 1 or not is_for_translation(text, decoding.protect):
            raise UserError("alternatives are for one sentence that is not empty and not too long.")
        searcher, search = self.searcher(decoding), self.search(decoding.likeliest())
        job = self.job(text.strip(), replace(decoding, prefix=prefix))
        attempt = Attempt(reading=Reading.plain(job), no_repeat=decoding.no_repeat)
        request = replace(self.request(attempt, replace(decoding, prefix=prefix)), whole=True)
        requests = [
            replace(request, prefix=(*request.prefix, token)) for token in searcher.next_ids(request, count)
        ]
        found = searcher.find(requests, search, silent)
        answers = [self.answer(each[0], attempt.reading, decoding) for each in found]
        return distinct(sorted(answers, key=lambda answer: -answer.score))

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
        greedy = Decoding(beam=1, length_penalty=0.0)
        [[found]] = self.searcher(greedy).find([Request(source=ids)], self.search(greedy), silent)
        said = found.ids[: config.context - 1]  # the start takes a position too
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


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


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


def is_for_translation(text: str, protect: Sequence[Kind]) -> bool:
    """Is there a letter in it that no protected span has?"""
    return has_letters(without(text, protected_spans(text, protect)))
