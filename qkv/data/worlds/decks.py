"""The sentences of the lecture decks, as abstract sentences."""

from qkv.data.worlds.grammar import Clause, Determiner, NounPhrase, Pronoun, Sentence
from qkv.data.worlds.lexicon import ADJECTIVES, CONJUNCTIONS, NOUNS, VERBS


def _phrase(noun: str, determiner: Determiner = "the", *, plural: bool = False) -> NounPhrase:
    return NounPhrase(NOUNS[noun], determiner, plural)


def _crossing(subject_is_it: bool, predicate: str) -> Sentence:
    """The animal didn't cross the street because it was too tired (the animal) or too wide (the street)."""
    animal, street = _phrase("animal"), _phrase("street")
    it = Pronoun(3, noun=animal.noun, antecedent="subject")
    if not subject_is_it:
        it = Pronoun(3, noun=street.noun, antecedent="object")
    return Sentence(
        main=Clause(subject=animal, verb=VERBS["cross"], tense="past", negative=True, object=street),
        conjunction=CONJUNCTIONS["because"],
        subordinate=Clause(subject=it, predicate=ADJECTIVES[predicate], degree="too", tense="past"),
    )


DECK_SENTENCES: tuple[Sentence, ...] = (
    Sentence(main=Clause(subject=_phrase("cat"), verb=VERBS["dance"], tense="past")),
    Sentence(main=Clause(subject=_phrase("baby"), verb=VERBS["cry"], tense="progressive")),
    Sentence(main=Clause(subject=Pronoun(1), verb=VERBS["like"], object=_phrase("cat", "bare", plural=True))),
    Sentence(
        main=Clause(
            subject=_phrase("friend", "my", plural=True),
            verb=VERBS["like"],
            object=_phrase("tomato", "bare", plural=True),
        ),
        conjunction=CONJUNCTIONS["because"],
        subordinate=Clause(
            subject=Pronoun(3, True, NOUNS["tomato"], "object"), predicate=ADJECTIVES["tasty"]
        ),
    ),
    _crossing(True, "tired"),
    _crossing(False, "wide"),
)
