"""Draws abstract sentences that make sense and are unambiguous in all languages.

Sentences with the same translation are avoided: no bare subjects ("cats sleep" and "the cats sleep" are both "los gatos
duermen"), no simple past with we (bailamos is also the present), and no pronoun that could mean two nouns.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar, cast

from qkv.data.worlds.grammar import (
    Clause,
    Degree,
    Determiner,
    Modal,
    NounPhrase,
    Participant,
    Pronoun,
    Role,
    Sentence,
    Tense,
)
from qkv.data.worlds.lexicon import (
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Adjective,
    Adverb,
    Conjunction,
    Noun,
    Preposition,
    Verb,
)
from qkv.data.worlds.sense import is_clear, is_contested, is_sensible, size

_Value = TypeVar("_Value")

ME, YOU, WE = Pronoun(1), Pronoun(2), Pronoun(1, plural=True)


def _weighted(weights: str) -> tuple[str, ...]:
    """'the 3 a 1' gives three times "the" and once "a"."""
    parts = weights.split()
    return tuple(
        word for word, weight in zip(parts[::2], parts[1::2], strict=True) for _ in range(int(weight))
    )


def _by_noun(words: Iterable[tuple[_Value, tuple[Noun, ...]]]) -> dict[Noun, tuple[_Value, ...]]:
    """For each noun, the words that can be combined with it."""
    found: dict[Noun, list[_Value]] = {noun: [] for noun in NOUNS.values()}
    for word, nouns in words:
        for noun in nouns:
            found[noun].append(word)
    return {noun: tuple(fitting) for noun, fitting in found.items()}


def _determiners(weights: str) -> tuple[Determiner, ...]:
    return cast(tuple[Determiner, ...], _weighted(weights))


# By use, then for singular, plural and mass nouns.
_DETERMINERS = {
    "subject": (
        _determiners("the 8 a 4 my 3 your 2 our 1 this 2"),
        _determiners("the 7 my 3 your 2 our 1 this 2 two 2 three 1 many 1 some 1"),
        _determiners("the 5 my 1 your 1 this 2"),
    ),
    "object": (
        _determiners("the 7 a 5 my 2 your 2 our 1 this 2"),
        _determiners("the 5 bare 5 my 2 your 1 our 1 this 2 two 2 three 1 many 1 some 1"),
        _determiners("the 4 bare 4 my 1 your 1 this 1"),
    ),
    # "I didn't see two dogs" means several things; "I didn't see a dog" has its own word in German, kein.
    "negative": (
        _determiners("the 7 a 4 my 2 your 2 our 1 this 2"),
        _determiners("the 5 bare 5 my 2 your 1 our 1 this 2"),
        _determiners("the 4 bare 4 my 1 your 1 this 1"),
    ),
    # "I like cats" and "I like the cats" are both "me gustan los gatos": only the first is drawn.
    "liked": (
        _determiners("the 5 my 2 your 2 our 1 this 3"),
        _determiners("bare 8 my 2 your 2 this 2"),
        _determiners("bare 6 my 1 your 1 this 2"),
    ),
}
_OWNED = ("my", "your", "our")
_PERSONS = (ME, ME, ME, YOU, YOU, WE)
_MODALS: tuple[Modal, ...] = ("can", "want", "must")
_TENSES = cast(
    tuple[Tense, ...], _weighted("present 5 past 9 perfect 3 future 3 progressive 3 past_progressive 2")
)
_DEGREES: tuple[Degree | None, ...] = (None, None, None, "very", "too", "too")
_VERBS = tuple(VERBS.values())
_INTRANSITIVE = tuple(verb for verb in _VERBS if not verb.objects)
_PERSONAL = tuple(verb for verb in _INTRANSITIVE if verb.personal)
_GIVING = tuple(verb for verb in _VERBS if "given" in verb.tags)
_LIKING = tuple(verb for verb in _VERBS if "experiencer" in verb.tags)
_TRANSITIVE = tuple(verb for verb in _VERBS if verb.objects and verb not in _GIVING and verb not in _LIKING)
_KINDS = (_INTRANSITIVE,) * 6 + (_TRANSITIVE,) * 10 + (_GIVING,) * 2 + (_LIKING,) * 2
_CONTESTABLE = tuple(
    (verb, subjects)
    for verb in _TRANSITIVE + _LIKING
    if (subjects := tuple(noun for noun in verb.subjects if noun.english_pronoun == "it"))
    and any(noun.english_pronoun == "it" for noun in verb.objects)
)
_ADJECTIVES = tuple(ADJECTIVES.values())
_PREPOSITIONS = tuple(PREPOSITIONS.values())
_PLACES = tuple(preposition for preposition in _PREPOSITIONS if preposition.tag != "human")
_PEOPLE = tuple(noun for noun in NOUNS.values() if "human" in noun.tags)
_MAN = NOUNS["man"]

_DESCRIBING = _by_noun((word, word.nouns) for word in _ADJECTIVES)
_EXPLAINING = _by_noun((word, word.nouns) for word in _ADJECTIVES if word.reason)
_DOING = _by_noun((verb, verb.subjects) for verb in _VERBS)
_SUFFERING = _by_noun((verb, verb.objects) for verb in _TRANSITIVE)
_AT = {
    preposition: tuple(noun for noun in NOUNS.values() if preposition.tag in noun.tags)
    for preposition in _PREPOSITIONS
}
_BECAUSE, _ALTHOUGH, _WHEN = (CONJUNCTIONS[name] for name in ("because", "although", "when"))


def sample(random: Random) -> Sentence:
    kind, written = random.random(), random.random() < 0.25
    if kind < 0.36:
        return _referring(random, written)
    if kind < 0.52:
        return _explained(random, written)
    question = kind < 0.62
    main = _main(random, question)
    while isinstance(main.subject, Pronoun) and size(main) < 3:  # more than "I danced", in Spanish one word
        main = _main(random, question)
    return Sentence(main=main, question=question, written=written)


def sample_apart(random: Random, clauses: int) -> Sentence:
    """A sentence with a pronoun for one of its nouns, and this many clauses between the noun and the pronoun.

    The subjects of these clauses are I, you and we, so that the pronoun stays unambiguous.
    """
    sentence = _referring(random, random.random() < 0.25)
    while sentence.question:
        sentence = _referring(random, False)
    return replace(sentence, between=tuple(_coordinate(random) for _ in range(clauses)))


def _coordinate(random: Random) -> Clause:
    verb, subject = _pick(random, _PERSONAL), _pick(random, _PERSONS)
    tense, modal = _tense(random, verb)
    clause = _doing(random, verb, subject, _possible(verb, subject, tense, modal), modal, False, ())
    adverb = _adverb(random, clause, verb, False) if random.random() < 0.36 else None
    return clause if adverb is None else replace(clause, adverb=adverb)


def _pick(random: Random, values: tuple[_Value, ...]) -> _Value:
    """Like random.choice, but faster."""
    return values[int(random.random() * len(values))]


def _main(random: Random, question: bool) -> Clause:
    if random.random() < 0.12:
        adjective = _pick(random, _ADJECTIVES)
        subject = _subject(random, adjective.nouns, _MAN in adjective.nouns)
        return _being(random, adjective, subject, _pick(random, ("present", "past")), question)
    verb = _pick(random, _pick(random, _KINDS))
    subject = _subject(random, verb.subjects, verb.personal)
    tense, modal = _tense(random, verb)
    clause = _doing(random, verb, subject, _possible(verb, subject, tense, modal), modal, question, ())
    return _with_adverbials(random, clause, verb, question)


def _possible(verb: Verb, subject: Participant, tense: Tense, modal: Modal | None) -> Tense:
    """The tense, or the perfect if the simple past would look like the present (we read: leímos)."""
    if tense != "past" or modal is not None:
        return tense
    we = subject.plural and subject.person == 1
    return "perfect" if "nopast" in verb.tags or (we and "stative" not in verb.tags) else "past"


def _tense(random: Random, verb: Verb) -> tuple[Tense, Modal | None]:
    if "stative" in verb.tags:
        return ("present" if random.random() < 0.6 else "past"), None
    if random.random() < 0.14:
        return ("present" if random.random() < 0.6 else "past"), _pick(random, _MODALS)
    tense = _pick(random, _TENSES)
    if "instant" in verb.tags and "progressive" in tense:
        return "past", None
    return tense, None


def _subject(random: Random, nouns: tuple[Noun, ...], personal: bool) -> Participant:
    if personal and random.random() < 0.28:
        return _pick(random, _PERSONS)
    return _phrase(random, _pick(random, nouns), "subject")


def _phrase(random: Random, noun: Noun, use: str) -> NounPhrase:
    tags = noun.tags
    plural = "mass" not in tags and "single" not in tags and random.random() < 0.35
    determiner = _pick(random, _DETERMINERS[use][2 if "mass" in tags else plural])
    if ("unowned" in tags and determiner in _OWNED) or (determiner == "bare" and "human" in tags):
        determiner = "the"
    adjective = _pick(random, _DESCRIBING[noun]) if random.random() < 0.2 else None
    return NounPhrase(noun, determiner, plural, adjective)


def _being(
    random: Random, adjective: Adjective, subject: Participant, tense: Tense, question: bool
) -> Clause:
    negative = not question and random.random() < 0.15
    if isinstance(subject, NounPhrase) and subject.adjective is not None:
        subject = replace(subject, adjective=None)  # no "the tired dog is not tired"
    adverb = None
    if not negative and random.random() < 0.2:
        adverb = _pick(random, _adverbs(tense, False, True, True))
        if adverb.name in ("here", "every day") or (question and adverb.name == "never"):
            adverb = None
    return Clause(
        subject=subject,
        predicate=adjective,
        degree=_pick(random, _DEGREES) if adjective.reason and not negative else None,
        tense=tense,
        negative=negative,
        adverb=adverb,
        fronted=_fronted(random, adverb, question),
    )


def _doing(
    random: Random,
    verb: Verb,
    subject: Participant,
    tense: Tense,
    modal: Modal | None,
    question: bool,
    taken: tuple[Noun, ...],
) -> Clause:
    """A clause with the objects of the verb, which are nouns that are not taken yet."""
    negative = not question and verb.name != "love" and random.random() < 0.17
    taken = (*taken, subject.noun) if subject.noun is not None else taken
    thing: Participant | None = None
    recipient: Participant | None = None
    if verb.objects:
        use = "liked" if verb in _LIKING else "negative" if negative else "object"
        thing = _phrase(random, _other(random, verb.objects, taken), use)
        if thing.adjective is not None and thing.adjective.name.startswith(verb.name):
            thing = replace(thing, adjective=None)  # no "opens the open door"
        if use != "liked" and _MAN in verb.objects and random.random() < 0.15:
            thing = _other_person(random, subject)
    if "given" in verb.tags:
        recipient = _phrase(random, _other(random, _PEOPLE, taken), "subject")
        if random.random() < 0.35:
            recipient = _other_person(random, subject)
    return Clause(
        subject=subject,
        verb=verb,
        tense=tense,
        modal=modal,
        negative=negative,
        object=thing,
        recipient=recipient,
    )


def _other(random: Random, nouns: tuple[Noun, ...], taken: tuple[Noun, ...]) -> Noun:
    noun = _pick(random, nouns)
    while noun in taken:
        noun = _pick(random, nouns)
    return noun


def _other_person(random: Random, subject: Participant) -> Pronoun:
    """Me, you or us, but not the subject itself."""
    if subject.person == 1:
        return YOU
    return _pick(random, (ME, ME, WE) if subject.person == 2 else _PERSONS)


def _with_adverbials(random: Random, clause: Clause, verb: Verb, question: bool) -> Clause:
    """At most one adverb and one place, in the main clause."""
    adverb = _adverb(random, clause, verb, question) if random.random() < 0.36 else None
    preposition: Preposition | None = None
    place: NounPhrase | None = None
    if "place" in verb.tags and random.random() < 0.4:
        preposition = _pick(
            random, _PREPOSITIONS if verb.personal else _PLACES
        )  # "with" needs a person as subject
        taken = (clause.subject.noun,) if clause.subject.noun is not None else ()
        place = _phrase(random, _other(random, _AT[preposition], taken), "subject")
    if adverb is None and place is None:
        return clause
    fronted = _fronted(random, adverb, question)
    return replace(clause, adverb=adverb, preposition=preposition, place=place, fronted=fronted)


def _adverb(random: Random, clause: Clause, verb: Verb, question: bool) -> Adverb | None:
    if "stative" in verb.tags:
        return None
    thing = clause.object
    specific = thing is None or (isinstance(thing, NounPhrase) and thing.determiner in ("the", "my", "this"))
    manner = "manner" in verb.tags and specific
    progressive = clause.tense in ("progressive", "past_progressive")
    often = not clause.negative and clause.modal is None and not progressive
    candidates = _adverbs(clause.tense, manner, often, not progressive)
    adverb = _pick(random, candidates) if candidates else None
    return None if question and adverb is not None and adverb.name == "never" else adverb


@cache
def _adverbs(tense: Tense, manner: bool, frequency: bool, time: bool) -> tuple[Adverb, ...]:
    kinds = {"manner": manner, "frequency": frequency, "time": time}
    return tuple(adverb for adverb in ADVERBS.values() if kinds[adverb.kind] and tense in adverb.tenses)


def _fronted(random: Random, adverb: Adverb | None, question: bool) -> bool:
    possible = adverb is not None and adverb.kind == "time" and adverb.name != "here"
    return possible and not question and random.random() < 0.4


def _explained(random: Random, written: bool) -> Sentence:
    """A main clause, and a subordinate clause with its own subject or the same I, you or we."""
    while True:
        main = _main(random, False)
        subject: Participant
        taken = _nouns(main)
        if random.random() < 0.4:
            adjective = _pick(random, _ADJECTIVES)
            subject = _subject(random, adjective.nouns, _MAN in adjective.nouns)
            subordinate = _reason(random, main, adjective, subject)
        else:
            verb = _pick(random, _pick(random, _KINDS))
            subject = _subject(random, verb.subjects, verb.personal)
            subordinate = _event(random, main, verb, subject, taken)
        if subject.noun in taken or (subject == main.subject and not is_clear(main, subordinate)):
            continue
        if is_sensible(main, subordinate):
            conjunction = _conjunction(random, main, subordinate)
            return Sentence(main=main, conjunction=conjunction, subordinate=subordinate, written=written)


def _referring(random: Random, written: bool) -> Sentence:
    """A main clause, and a subordinate clause with a pronoun for one of its nouns."""
    while True:
        question = random.random() < 0.05
        main = _contested(random, question) if random.random() < 0.4 else _main(random, question)
        role: Role = "object" if main.object is not None and random.random() < 0.5 else "subject"
        antecedent = main.object if role == "object" else main.subject
        if not isinstance(antecedent, NounPhrase):
            continue
        if role == "object" and main.negative and antecedent.determiner == "a":
            continue  # there is no dog that the pronoun could mean
        pronoun = Pronoun(3, antecedent.plural, antecedent.noun, role)
        subordinate = _about(random, main, pronoun, antecedent.noun)
        if subordinate is not None and is_clear(main, subordinate) and is_sensible(main, subordinate):
            conjunction = _conjunction(random, main, subordinate)
            return Sentence(
                main=main,
                question=question,
                conjunction=conjunction,
                subordinate=subordinate,
                written=written,
            )


def _contested(random: Random, question: bool) -> Clause:
    """A main clause with two nouns that are both "it", so that only the meaning tells them apart."""
    while True:
        verb, subjects = _pick(random, _CONTESTABLE)
        subject = _phrase(random, _pick(random, subjects), "subject")
        tense, modal = _tense(random, verb)
        clause = _doing(random, verb, subject, _possible(verb, subject, tense, modal), modal, question, ())
        if not subject.plural and is_contested(clause):
            return _with_adverbials(random, clause, verb, question)


def _about(random: Random, main: Clause, pronoun: Pronoun, noun: Noun) -> Clause | None:
    """A clause in which the pronoun has a property, does something, or is the object."""
    kind = random.random()
    if kind < 0.64 and _EXPLAINING[noun]:
        return _reason(random, main, _pick(random, _EXPLAINING[noun]), pronoun)
    if kind < 0.84 and _DOING[noun]:
        return _event(random, main, _pick(random, _DOING[noun]), pronoun, _nouns(main))
    if not _SUFFERING[noun]:
        return None
    verb = _pick(random, _SUFFERING[noun])
    taken = _nouns(main)
    subject = _phrase(random, _pick(random, verb.subjects), "subject")
    if subject.noun in taken:
        return None
    return replace(_event(random, main, verb, subject, taken), object=pronoun)


def _reason(random: Random, main: Clause, adjective: Adjective, subject: Participant) -> Clause:
    clause = _being(random, adjective, subject, _frame(main), False)
    return replace(clause, adverb=None, fronted=False) if clause.adverb is not None else clause


def _event(random: Random, main: Clause, verb: Verb, subject: Participant, taken: tuple[Noun, ...]) -> Clause:
    """A subordinate clause with a verb. Its tense follows that of the main clause."""
    tense = _frame(main)
    modal: Modal | None = None
    if "stative" not in verb.tags:
        draw = random.random()
        if draw < 0.25:
            modal = _pick(random, _MODALS)
        elif draw < 0.5 and "instant" not in verb.tags:
            tense = "past_progressive" if tense == "past" else "progressive"
    tense = _possible(verb, subject, tense, modal)
    if tense == "perfect" and "instant" not in verb.tags:
        tense = "past_progressive"  # because we were drinking tea: the perfect rarely follows a past
    return _doing(random, verb, subject, tense, modal, False, taken)


def _frame(main: Clause) -> Tense:
    return "past" if main.tense in ("past", "past_progressive", "perfect") else "present"


def _conjunction(random: Random, main: Clause, subordinate: Clause) -> Conjunction:
    draw = random.random()
    past = main.tense in ("past", "past_progressive") and subordinate.tense != "perfect"
    if draw < 0.12 and past:  # als; the present would need wenn
        return _WHEN
    return _ALTHOUGH if draw > 0.8 else _BECAUSE


def _nouns(clause: Clause) -> tuple[Noun, ...]:
    others = (clause.subject, clause.object, clause.recipient, clause.place)
    return tuple(other.noun for other in others if other is not None and other.noun is not None)
