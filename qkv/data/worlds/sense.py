"""Checks that a sentence makes sense and is unambiguous."""

from qkv.data.worlds.grammar import Clause, NounPhrase, Participant, Pronoun
from qkv.data.worlds.lexicon import NOUNS

_OPPOSITES_TABLE = """
sad happy, happy angry, strong weak, young old, rich poor, fast slow, wide narrow, hot cold, heavy light, full empty,
open closed, dirty clean, expensive cheap, modern old, new old, fresh old, big small, beautiful ugly,
interesting boring, good boring, sweet bitter, sweet salty
"""
_OPPOSITES = {frozenset(pair.split()) for pair in _OPPOSITES_TABLE.split(",")}
_MAN = NOUNS["man"]


def size(clause: Clause) -> int:
    """The approximate number of words of a clause."""
    count = 1 + (clause.degree is not None) + (clause.adverb is not None) + (clause.modal is not None)
    count += clause.tense not in ("present", "past")
    for participant in (clause.subject, clause.object, clause.recipient, clause.place):
        if isinstance(participant, NounPhrase):
            count += 2 if participant.adjective is None else 3
        elif participant is not None:
            count += 1
    return count + (clause.place is not None) + (clause.recipient is not None)


def is_contested(main: Clause) -> bool:
    """Whether subject and object have the same English pronoun, but different ones in other languages.

    "The animal didn't cross the street because it …": the rest of the sentence decides between es and sie.
    """
    first, second = main.subject, main.object
    if not isinstance(first, NounPhrase) or not isinstance(second, NounPhrase):
        return False
    alike = first.plural == second.plural and (
        first.plural or first.noun.english_pronoun == second.noun.english_pronoun
    )
    return alike and _columns(first) != _columns(second)


def _columns(phrase: Participant) -> tuple[int, int]:
    """The agreement classes (gender or plural) in German and in Spanish."""
    noun = phrase.noun or _MAN
    return (3 if phrase.plural else noun.german_gender), noun.spanish_gender + 2 * phrase.plural


def is_clear(main: Clause, subordinate: Clause) -> bool:
    """Whether the pronoun can mean only one participant of the main clause, in each language.

    Another participant is ruled out if the clause does not make sense for it ("because it was too wide": not the animal).
    Otherwise it must have another pronoun in English and German and another agreement in Spanish.
    """
    pronoun = subordinate.subject if not isinstance(subordinate.subject, NounPhrase) else subordinate.object
    if not isinstance(pronoun, Pronoun):
        return True
    is_subject = pronoun is subordinate.subject
    if subordinate.verb is None:
        assert subordinate.predicate is not None
        able = subordinate.predicate.nouns
        gender_shows = subordinate.predicate.spanish[0] != subordinate.predicate.spanish[1]
    else:
        able = subordinate.verb.subjects if is_subject else subordinate.verb.objects
        gender_shows = not is_subject
    for rival in (main.subject, main.object, main.recipient, main.place):
        if rival is None or (rival.noun is pronoun.noun and rival.person == pronoun.person):
            continue
        if (rival.noun or _MAN) in able and not _distinct(pronoun, rival, gender_shows):
            return False
    return True


def _distinct(pronoun: Pronoun, rival: Participant, gender_shows: bool) -> bool:
    if pronoun.plural != rival.plural:
        return True
    german, spanish = _columns(pronoun)
    rival_german, rival_spanish = _columns(rival)
    if not gender_shows or spanish == rival_spanish:
        return False
    if pronoun.person != rival.person:
        return True
    assert pronoun.noun is not None
    assert rival.noun is not None
    return german != rival_german and (
        pronoun.plural or pronoun.noun.english_pronoun != rival.noun.english_pronoun
    )


def is_sensible(main: Clause, subordinate: Clause) -> bool:
    """Whether it is not too long, and does not repeat a verb or an adjective or use its opposite."""
    if size(main) + size(subordinate) > 13:
        return False
    if subordinate.verb is not None:
        return subordinate.verb is not main.verb
    assert subordinate.predicate is not None
    name = subordinate.predicate.name
    adjectives = [main.predicate]
    for phrase in (main.subject, main.object):
        if isinstance(phrase, NounPhrase):
            adjectives.append(phrase.adjective)
    return not any(
        word is not None and (word.name == name or frozenset((word.name, name)) in _OPPOSITES)
        for word in adjectives
    )
