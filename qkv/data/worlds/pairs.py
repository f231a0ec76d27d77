"""Pairs of sentences in two of the languages, split by sentence and by combination of words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Literal

from qkv.data.worlds import english, german, spanish
from qkv.data.worlds.decks import DECK_SENTENCES
from qkv.data.worlds.grammar import (
    ALIGNED,
    HEAD,
    NOUN,
    OBJECT,
    REFERENCE,
    SUBJECT,
    Clause,
    Line,
    NounPhrase,
    Participant,
    Pronoun,
    Sentence,
)
from qkv.data.worlds.lexicon import CONJUNCTIONS, Adjective, Noun, Verb
from qkv.data.worlds.sampling import sample, sample_apart
from qkv.data.worlds.sense import is_contested

LANGUAGES = {"en": "English", "de": "German", "es": "Spanish"}
Part = Literal["train", "valid", "test"]

_LINEARISE: dict[str, Callable[[Sentence], Line]] = {
    "en": english.linearise,
    "de": german.linearise,
    "es": spanish.linearise,
}
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_CONJUNCTIONS = {
    word for entry in CONJUNCTIONS.values() for word in (entry.name, entry.german, entry.spanish)
}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Indices into words(source) and words(target)."""

    source: int  # the pronoun, or, if it is dropped, the word that agrees with it
    source_antecedent: int
    target: int
    target_antecedent: int


@dataclass(frozen=True, kw_only=True)
class Pair:
    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]  # (source word, target word)
    references: tuple[Reference, ...]
    unseen: bool  # has a combination of words that is not in the training part
    contested: bool  # has a pronoun for one of two nouns that only the meaning tells apart


def pairs(source: str, target: str, count: int, *, part: Part, seed: int = 1) -> list[Pair]:
    """Distinct sentences of a part. Half of the test part has combinations that are not in the training part."""
    random = Random(f"{part} {seed}")
    return _distinct(lambda number: sample(random), source, target, count, part)


def pairs_apart(
    source: str, target: str, count: int, *, clauses: Sequence[int], part: Part, seed: int = 1
) -> list[Pair]:
    """Sentences with a pronoun and a number of clauses between it and its noun, in turn from `clauses`."""
    random = Random(f"apart {part} {seed} {tuple(clauses)}")
    return _distinct(
        lambda number: sample_apart(random, clauses[number % len(clauses)]), source, target, count, part
    )


def _distinct(
    draw: Callable[[int], Sentence], source: str, target: str, count: int, part: Part
) -> list[Pair]:
    """Draw distinct pairs of a part. `draw` gets the number of pairs so far."""
    _check(source, target, part)
    known = set(_DECK_KEYS)
    result: list[Pair] = []
    while len(result) < count:
        sentence = draw(len(result))
        unseen = _is_unseen(sentence)
        if unseen != (part == "test" and len(result) % 2 == 1):
            continue
        key = _key(sentence)
        if key in known or (not unseen and _part(key) != part):
            continue
        known.add(key)
        result.append(_pair(sentence, source, target, unseen))
    return result


def deck_pairs(source: str, target: str) -> list[Pair]:
    """The sentences of the lecture decks, which no part contains."""
    _check(source, target, "test")
    return [_pair(sentence, source, target, _is_unseen(sentence)) for sentence in DECK_SENTENCES]


def words(text: str) -> list[str]:
    """The words and punctuation marks of a text; "didn't" is one word."""
    return _WORD.findall(text)


def reference_agrees(pair: Pair, hypothesis: str) -> bool:
    """Whether the subordinate clause of the hypothesis has the words that agree with the pronoun's antecedent.

    They are counted, because "la" may also be an article: porque la mujer la vio.
    """
    expected = words(pair.target)
    wanted = Counter(_after_conjunction(expected))
    found = Counter(_after_conjunction(words(hypothesis)))
    return all(
        found[expected[reference.target].lower()] >= wanted[expected[reference.target].lower()]
        for reference in pair.references
    )


def _after_conjunction(sentence: list[str]) -> list[str]:
    lowered = [word.lower() for word in sentence]
    first = next((index for index, word in enumerate(lowered) if word in _CONJUNCTIONS), len(lowered))
    return lowered[first + 1 :]


def _check(source: str, target: str, part: str) -> None:
    for language in (source, target):
        if language not in LANGUAGES:
            raise ValueError(f"no built-in language is called {language!r}: there are {', '.join(LANGUAGES)}")
    if source == target:
        raise ValueError(f"source and target are both {LANGUAGES[source]}: choose two languages")
    if part not in ("train", "valid", "test"):
        raise ValueError(f"no part is called {part!r}: there are train, valid and test")


def _pair(sentence: Sentence, source: str, target: str, unseen: bool) -> Pair:
    first, second = _LINEARISE[source](sentence), _LINEARISE[target](sentence)
    second_masks = [(index, mask & ALIGNED) for index, mask in enumerate(second.masks) if mask]
    return Pair(
        source=first.text(),
        target=second.text(),
        alignment=tuple(
            [
                (here, there)
                for here, mask in enumerate(first.masks)
                for there, other in second_masks
                if mask & other
            ]
        ),
        references=_references(sentence, first, second),
        unseen=unseen,
        contested=bool(_referring_pronoun(sentence.subordinate)) and is_contested(sentence.main),
    )


def _references(sentence: Sentence, first: Line, second: Line) -> tuple[Reference, ...]:
    """The references of a sentence, at most one. The antecedent is the subject or the object of the main clause."""
    pronoun = _referring_pronoun(sentence.subordinate)
    if pronoun is None:
        return ()
    head = (HEAD ^ NOUN) << (SUBJECT if pronoun.antecedent == "subject" else OBJECT)
    return (
        Reference(
            source=_find(first, REFERENCE),
            source_antecedent=_find(first, head),
            target=_find(second, REFERENCE),
            target_antecedent=_find(second, head),
        ),
    )


def _referring_pronoun(clause: Clause | None) -> Pronoun | None:
    if clause is not None:
        for participant in (clause.subject, clause.object):
            if isinstance(participant, Pronoun) and participant.antecedent:
                return participant
    return None


def _find(line: Line, bits: int) -> int:
    return next(index for index, mask in enumerate(line.masks) if mask & bits)


# --- the split ---

_SALT = "worlds 1"
_held_out: dict[tuple[Noun, Verb | Adjective, str], bool] = {}


def _number(text: str) -> int:
    """A hash that is the same in every process, unlike hash()."""
    return int.from_bytes(blake2b(f"{_SALT} {text}".encode(), digest_size=8).digest(), "big")


def _part(key: str) -> Part:
    number = _number(key) % 100
    return "valid" if number < 10 else "test" if number < 20 else "train"


def _is_held_out(noun: Noun, word: Verb | Adjective, role: str) -> bool:
    """Whether this combination is only in the test part, as one in twenty is."""
    known = _held_out.get((noun, word, role))
    if known is None:
        known = _number(f"{noun.name} {role} {word.name}") % 20 == 0
        _held_out[noun, word, role] = known
    return known


def _is_unseen(sentence: Sentence) -> bool:
    return _has_held_out(sentence.main) or (
        sentence.subordinate is not None and _has_held_out(sentence.subordinate)
    )


def _has_held_out(clause: Clause) -> bool:
    subject, thing = clause.subject, clause.object
    if subject.noun is not None:
        if clause.verb is not None:
            if _is_held_out(subject.noun, clause.verb, "does"):
                return True
        elif clause.predicate is not None and _is_held_out(subject.noun, clause.predicate, "is"):
            return True
    if (
        thing is not None
        and thing.noun is not None
        and clause.verb is not None
        and _is_held_out(thing.noun, clause.verb, "suffers")
    ):
        return True
    return any(
        isinstance(phrase, NounPhrase)
        and phrase.adjective is not None
        and _is_held_out(phrase.noun, phrase.adjective, "is")
        for phrase in (subject, thing, clause.recipient, clause.place)
    )


def _key(sentence: Sentence) -> str:
    """Identifies the meaning of a sentence, so that both writing styles are in the same part."""
    key = f"{_clause_key(sentence.main)} {sentence.question}"
    if sentence.subordinate is not None and sentence.conjunction is not None:
        return f"{key} {sentence.conjunction.name} {_clause_key(sentence.subordinate)}"
    return key


def _clause_key(clause: Clause) -> str:
    action = clause.verb or clause.predicate
    return (
        f"{_participant_key(clause.subject)} {action.name if action is not None else ''} {clause.tense}"
        f" {clause.modal} {clause.negative} {clause.degree} {_participant_key(clause.object)}"
        f" {_participant_key(clause.recipient)} {clause.preposition.name if clause.preposition else ''}"
        f" {_participant_key(clause.place)} {clause.adverb.name if clause.adverb else ''} {clause.fronted}"
    )


def _participant_key(participant: Participant | None) -> str:
    if participant is None:
        return ""
    if isinstance(participant, Pronoun):
        return f"{participant.person}{participant.plural}{participant.antecedent}"
    adjective = participant.adjective.name if participant.adjective is not None else ""
    return f"{participant.determiner} {adjective} {participant.noun.name} {participant.plural}"


_DECK_KEYS = frozenset(_key(sentence) for sentence in DECK_SENTENCES)
