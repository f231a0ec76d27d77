"""Abstract sentences: meanings without a language."""

from dataclasses import dataclass
from typing import Literal

from qkv.data.worlds.lexicon import Adjective, Adverb, Conjunction, Noun, Preposition, Verb

Determiner = Literal["the", "a", "bare", "my", "your", "our", "this", "two", "three", "many", "some"]
Tense = Literal["present", "past", "perfect", "future", "progressive", "past_progressive"]
Modal = Literal["can", "want", "must"]
Degree = Literal["very", "too"]
Role = Literal["subject", "object"]

DEFINITE: frozenset[Determiner] = frozenset(("the", "my", "your", "our", "this"))


@dataclass(frozen=True, slots=True)
class NounPhrase:
    noun: Noun
    determiner: Determiner = "the"
    plural: bool = False
    adjective: Adjective | None = None

    @property
    def person(self) -> int:
        return 3


@dataclass(frozen=True, slots=True)
class Pronoun:
    """I, you (singular) or we; or, in a subordinate clause, a pronoun for a noun of the main clause.

    In Spanish, speaker and listener are masculine (cansado), so that an English sentence has only one translation.
    """

    person: int
    plural: bool = False
    noun: Noun | None = None
    antecedent: Role | None = None


Participant = NounPhrase | Pronoun


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A subject with a verb, or with an adjective as predicate."""

    subject: Participant
    verb: Verb | None = None
    predicate: Adjective | None = None
    degree: Degree | None = None
    tense: Tense = "present"
    modal: Modal | None = None
    negative: bool = False
    object: Participant | None = None
    recipient: Participant | None = None
    preposition: Preposition | None = None
    place: NounPhrase | None = None
    adverb: Adverb | None = None
    fronted: bool = False  # the adverb opens the sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    main: Clause
    question: bool = False
    conjunction: Conjunction | None = None
    subordinate: Clause | None = None
    written: bool = False  # capital letter and full stop
    between: tuple[Clause, ...] = ()  # clauses about I, you and we before the subordinate clause


# Concepts, one bit each. A word has the bits of all concepts that it expresses. Those of the subordinate clause are
# shifted. A noun phrase has three: determiner, adjective, noun.
SUBJECT, OBJECT, RECIPIENT, PLACE = 0, 3, 6, 9  # shifts of the noun phrases
NOUN = 4
VERB, TENSE, NEGATION, MODAL, PREPOSITION, ADVERB, DEGREE, PREDICATE = (1 << bit for bit in range(12, 20))
SUBORDINATE = 20
CONJUNCTION, END = 1 << 40, 1 << 41
ALIGNED = (1 << 42) - 1  # the bits above mark references, not meaning
REFERENCE = 1 << 42
HEAD = NOUN | 1 << 44  # the noun itself, because other words (a, les) express the same concept


class Line:
    """The words of a sentence in one language, each with the concepts it expresses."""

    __slots__ = ("masks", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.masks: list[int] = []

    def add(self, word: str, mask: int) -> None:
        if " " in word:
            for part in word.split():
                self.words.append(part)
                self.masks.append(mask)
        else:
            self.words.append(word)
            self.masks.append(mask)

    def insert(self, conjunction: str, clause: "Line") -> None:
        """Add a coordinate clause. Its words are not aligned."""
        for word in (",", conjunction, *clause.words):
            self.add(word, 0)

    def close(self, sentence: Sentence) -> None:
        """Add the capital letter and the final punctuation."""
        if sentence.question:
            self.add("?", END)
        elif sentence.written:
            self.add(".", END)
        if sentence.written:
            first = 1 if self.words[0] == "¿" else 0
            word = self.words[first]
            self.words[first] = word[0].upper() + word[1:]

    def text(self) -> str:
        joined = " ".join(self.words)
        for spaced, mark in ((" ,", ","), (" .", "."), (" ?", "?"), ("¿ ", "¿")):
            joined = joined.replace(spaced, mark)
        return joined


def concept(participant: Participant, shift: int) -> int:
    """The bits of a pronoun or noun. A pronoun with an antecedent is marked as a reference."""
    if isinstance(participant, Pronoun) and participant.antecedent:
        return NOUN << shift | REFERENCE
    return NOUN << shift
