"""English: do-support, progressive tenses, agreement only in the third person."""

from qkv.data.worlds.grammar import (
    ADVERB,
    CONJUNCTION,
    DEGREE,
    HEAD,
    MODAL,
    NEGATION,
    NOUN,
    OBJECT,
    PLACE,
    PREDICATE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    SUBORDINATE,
    TENSE,
    VERB,
    Clause,
    Line,
    NounPhrase,
    Participant,
    Sentence,
    concept,
)

_SUBJECTS = {(1, False): "I", (2, False): "you", (1, True): "we"}
_OBJECTS = {(1, False): "me", (2, False): "you", (1, True): "us"}
_OBLIQUE = {"he": "him", "she": "her", "it": "it"}
_MODALS = {"want": ("want", "wants", "wanted"), "must": ("have", "has", "had")}
# The finite auxiliaries: ordinary and third person singular, present and past
_DO = (("do", "does"), ("did", "did"))
_CAN = (("can", "can"), ("could", "could"))
_HAVE = (("have", "has"), ("had", "had"))
_WILL = (("will", "will"), ("would", "would"))
_IRREGULAR_NEGATION = {"can": "can't", "will": "won't", "am": "am not"}


def linearise(sentence: Sentence) -> Line:
    line = Line()
    _clause(line, sentence.main, 0, sentence.question)
    for clause in sentence.between:
        coordinate = Line()
        _clause(coordinate, clause, 0, False)
        line.insert("and", coordinate)
    if sentence.subordinate is not None and sentence.conjunction is not None:
        if sentence.between:
            line.add(",", 0)
        line.add(sentence.conjunction.name, CONJUNCTION)
        _clause(line, sentence.subordinate, SUBORDINATE, False)
    line.close(sentence)
    return line


def _clause(line: Line, clause: Clause, base: int, question: bool) -> None:
    adverb = clause.adverb
    auxiliary, rest = _verb_group(clause, question, base)
    often = adverb is not None and adverb.kind == "frequency"
    if adverb is not None and clause.fronted:
        line.add(adverb.name, ADVERB << base)
    if question and auxiliary:
        line.add(*auxiliary)
    _participant(line, clause.subject, base + SUBJECT, _SUBJECTS)
    if not question and auxiliary:
        line.add(*auxiliary)
    if adverb is not None and often:
        line.add(adverb.name, ADVERB << base)
    for word, mask in rest:
        line.add(word, mask)
    _complements(line, clause, base)
    if clause.preposition is not None and clause.place is not None:
        line.add(clause.preposition.name, PREPOSITION << base)
        _noun_phrase(line, clause.place, base + PLACE)
    if adverb is not None and adverb.kind == "time" and not clause.fronted:
        line.add(adverb.name, ADVERB << base)


def _complements(line: Line, clause: Clause, base: int) -> None:
    if clause.predicate is not None:
        if clause.degree is not None:
            line.add(clause.degree, DEGREE << base)
        line.add(clause.predicate.name, PREDICATE << base)
    recipient = clause.recipient
    if recipient is not None and not isinstance(recipient, NounPhrase):  # gave me the book
        _participant(line, recipient, base + RECIPIENT, _OBJECTS)
    if clause.object is not None:
        _participant(line, clause.object, base + OBJECT, _OBJECTS)
    if isinstance(recipient, NounPhrase):  # gave the book to the woman
        line.add("to", NOUN << base + RECIPIENT)
        _noun_phrase(line, recipient, base + RECIPIENT)
    if clause.adverb is not None and clause.adverb.kind == "manner":
        line.add(clause.adverb.name, ADVERB << base)


def _verb_group(
    clause: Clause, question: bool, base: int
) -> tuple[tuple[str, int] | None, list[tuple[str, int]]]:
    """The auxiliary, which questions put first, and the verbs after it."""
    third = clause.subject.person == 3 and not clause.subject.plural
    past = clause.tense in ("past", "past_progressive")
    negative = clause.negative
    verb = clause.verb.english if clause.verb is not None else None
    if verb is None:
        return _finite(_be(clause.subject, past), negative, TENSE | VERB, base), []
    lexical = VERB << base
    rest = [(verb.particle, lexical)] if verb.particle else []
    if clause.modal == "can":
        return _finite(_CAN[past][third], negative, TENSE | MODAL, base), [(verb.base, lexical), *rest]
    if clause.tense in ("progressive", "past_progressive"):
        return _finite(_be(clause.subject, past), negative, TENSE, base), [(verb.gerund, lexical), *rest]
    if clause.tense == "perfect":
        return _finite(_HAVE[0][third], negative, TENSE, base), [(verb.participle, lexical), *rest]
    if clause.tense == "future":
        return _finite(_WILL[0][third], negative, TENSE, base), [(verb.base, lexical), *rest]
    forms, mask = (verb.base, verb.third, verb.past), VERB
    if clause.modal is not None:
        forms, mask = _MODALS[clause.modal], MODAL
        rest = [("to", MODAL << base), (verb.base, lexical), *rest]
    if negative or question:
        return _finite(_DO[past][third], negative, TENSE, base), [(forms[0], mask << base), *rest]
    return None, [(forms[2] if past else forms[third], (mask | TENSE) << base), *rest]


def _be(subject: Participant, past: bool) -> str:
    if subject.plural or subject.person == 2:
        return "were" if past else "are"
    if past:
        return "was"
    return "am" if subject.person == 1 else "is"


def _finite(word: str, negative: bool, mask: int, base: int) -> tuple[str, int]:
    if not negative:
        return word, mask << base
    return _IRREGULAR_NEGATION.get(word, word + "n't"), (mask | NEGATION) << base


def _participant(
    line: Line, participant: Participant, shift: int, table: dict[tuple[int, bool], str]
) -> None:
    if isinstance(participant, NounPhrase):
        _noun_phrase(line, participant, shift)
        return
    if participant.noun is None:
        word = table[participant.person, participant.plural]
    elif participant.plural:
        word = "they" if table is _SUBJECTS else "them"
    else:
        word = participant.noun.english_pronoun
        word = word if table is _SUBJECTS else _OBLIQUE[word]
    line.add(word, concept(participant, shift))


def _noun_phrase(line: Line, phrase: NounPhrase, shift: int) -> None:
    noun = phrase.noun.english[phrase.plural]
    determiner: str = phrase.determiner
    if determiner == "a":
        following = phrase.adjective.name if phrase.adjective is not None else noun
        determiner = "an" if following[0] in "aeiou" else "a"
    elif determiner == "this" and phrase.plural:
        determiner = "these"
    if determiner != "bare":
        line.add(determiner, 1 << shift)
    if phrase.adjective is not None:
        line.add(phrase.adjective.name, 2 << shift)
    line.add(noun, HEAD << shift)
