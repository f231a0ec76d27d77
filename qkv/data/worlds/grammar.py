"""An abstract sentence: what is said, before any language says it."""

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
    """I, you (always one person) or we; or in a subordinate clause a word for a noun of the main clause.

    The speaker and the listener are masculine in Spanish (cansado): English does not say, and one
    English sentence shall have one translation.
    """

    person: int
    plural: bool = False
    noun: Noun | None = None
    antecedent: Role | None = None


Participant = NounPhrase | Pronoun


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Somebody does something (verb), or is somehow (predicate)."""

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
    between: tuple[Clause, ...] = ()  # what else I, you and we do, said before the subordinate clause


# Concepts, one bit each; a word carries the bits of what it expresses. Those of the subordinate clause are
# the same, shifted. A noun phrase has three: determiner, adjective, noun.
SUBJECT, OBJECT, RECIPIENT, PLACE = 0, 3, 6, 9  # shifts of the noun phrases
NOUN = 4
VERB, TENSE, NEGATION, MODAL, PREPOSITION, ADVERB, DEGREE, PREDICATE = (1 << bit for bit in range(12, 20))
SUBORDINATE = 20
CONJUNCTION, END = 1 << 40, 1 << 41
ALIGNED = (1 << 42) - 1  # the bits above say no more about meaning, but where a reference begins and ends
REFERENCE = 1 << 42
HEAD = NOUN | 1 << 44  # the noun itself, where other words (a, les) carry the same concept


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
        """A clause beside the main one. What its words express is not told: they are not aligned."""
        for word in (",", conjunction, *clause.words):
            self.add(word, 0)

    def close(self, sentence: Sentence) -> None:
        """The capital letter, and the mark at the end."""
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
    """The bits of a pronoun or a noun; a pronoun with an antecedent is marked."""
    if isinstance(participant, Pronoun) and participant.antecedent:
        return NOUN << shift | REFERENCE
    return NOUN << shift
