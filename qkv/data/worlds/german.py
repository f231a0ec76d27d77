"""German: three cases, three genders, and the verb in second, first or last position."""

from qkv.data.worlds.grammar import (
    ADVERB,
    CONJUNCTION,
    DEGREE,
    HEAD,
    MODAL,
    NEGATION,
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

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2

# Rows: nominative, accusative, dative. Columns: masculine, feminine, neuter, plural.
_THE = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))
_LIKE_THE = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
_LIKE_A = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))
_WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
_MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
_STRONG = _LIKE_THE

_Table = tuple[tuple[str, ...], ...]


def _inflect(stem: str, endings: _Table) -> _Table:
    return tuple(tuple(stem + ending for ending in row) for row in endings)


def _always(word: str) -> _Table:
    return tuple((word,) * 4 for _ in range(3))


# Each determiner with its forms and the endings of the adjective after it.
_DETERMINERS: dict[str, tuple[_Table, _Table]] = {
    "the": (_THE, _WEAK),
    "this": (_inflect("dies", _LIKE_THE), _WEAK),
    "a": (_inflect("ein", _LIKE_A), _MIXED),
    "no": (_inflect("kein", _LIKE_A), _MIXED),
    "my": (_inflect("mein", _LIKE_A), _MIXED),
    "your": (_inflect("dein", _LIKE_A), _MIXED),
    "our": (_inflect("unser", _LIKE_A), _MIXED),
    "bare": (_always(""), _STRONG),
    "two": (_always("zwei"), _STRONG),
    "three": (_always("drei"), _STRONG),
    "many": (_inflect("viel", _LIKE_THE), _STRONG),
    "some": (_inflect("einig", _LIKE_THE), _STRONG),
}
_PRONOUNS: dict[tuple[int, bool], tuple[str, str, str]] = {
    (1, False): ("ich", "mich", "mir"),
    (2, False): ("du", "dich", "dir"),
    (1, True): ("wir", "uns", "uns"),
}
_THIRD = (("er", "sie", "es", "sie"), ("ihn", "sie", "es", "sie"), ("ihm", "ihr", "ihm", "ihnen"))

# ich, du, er/sie/es, plural; present and past
_BE = (("bin", "bist", "ist", "sind"), ("war", "warst", "war", "waren"))
_HAVE = ("habe", "hast", "hat", "haben")
_BECOME = ("werde", "wirst", "wird", "werden")
_MODALS = {
    "can": (("kann", "kannst", "kann", "können"), ("konnte", "konntest", "konnte", "konnten")),
    "want": (("will", "willst", "will", "wollen"), ("wollte", "wolltest", "wollte", "wollten")),
    "must": (("muss", "musst", "muss", "müssen"), ("musste", "musstest", "musste", "mussten")),
}
_DEGREES = {"very": "sehr", "too": "zu"}


def linearise(sentence: Sentence) -> Line:
    line = Line()
    _main_clause(line, sentence.main, sentence.question)
    for clause in sentence.between:
        coordinate = Line()
        _main_clause(coordinate, clause, False)
        line.insert("und", coordinate)
    if sentence.subordinate is not None and sentence.conjunction is not None:
        line.add(",", 0)
        line.add(sentence.conjunction.german, CONJUNCTION)
        _subordinate_clause(line, sentence.subordinate)
    line.close(sentence)
    return line


def _main_clause(line: Line, clause: Clause, question: bool) -> None:
    finite, finite_mask, last, last_mask = _verb_group(clause, 0)
    if clause.verb is not None and clause.verb.german.particle and not last:
        last, last_mask = clause.verb.german.particle, VERB
    if clause.fronted and clause.adverb is not None:
        line.add(clause.adverb.german, ADVERB)
    elif not question:
        _participant(line, clause.subject, SUBJECT, NOMINATIVE)
    line.add(finite, finite_mask)
    if question or clause.fronted:
        _participant(line, clause.subject, SUBJECT, NOMINATIVE)
    _middle(line, clause, 0)
    if last:
        line.add(last, last_mask)


def _subordinate_clause(line: Line, clause: Clause) -> None:
    finite, finite_mask, last, last_mask = _verb_group(clause, SUBORDINATE)
    _participant(line, clause.subject, SUBORDINATE + SUBJECT, NOMINATIVE)
    _middle(line, clause, SUBORDINATE)
    if last:
        line.add(last, last_mask)
    elif clause.verb is not None:
        finite = clause.verb.german.particle + finite  # ruft an, but: weil er anruft
    line.add(finite, finite_mask)


def _verb_group(clause: Clause, base: int) -> tuple[str, int, str, int]:
    """The finite verb, and the participle or infinitive at the end of the clause; each with its concepts."""
    subject = clause.subject
    slot = 3 if subject.plural else subject.person - 1
    past = clause.tense in ("past", "past_progressive")
    tense, lexical = TENSE << base, VERB << base
    if clause.verb is None:
        return _BE[past][slot], tense | lexical, "", 0
    verb = clause.verb.german
    if clause.modal is not None:
        return _MODALS[clause.modal][past][slot], tense | MODAL << base, verb.infinitive, lexical
    if clause.tense == "perfect":
        auxiliary = _BE[0] if verb.auxiliary == "sein" else _HAVE
        return auxiliary[slot], tense, verb.participle, lexical
    if clause.tense == "future":
        return _BECOME[slot], tense, verb.infinitive, lexical
    return (verb.past if past else verb.present)[slot], tense | lexical, "", 0


def _middle(line: Line, clause: Clause, base: int) -> None:
    """Everything between the finite verb and the end of the clause."""
    thing, recipient = clause.object, clause.recipient
    phrase = thing if isinstance(thing, NounPhrase) else None
    preposition = clause.verb.german.preposition if clause.verb is not None else ""
    case = DATIVE if clause.verb is not None and clause.verb.german.dative else ACCUSATIVE
    if recipient is not None and not isinstance(recipient, NounPhrase):
        _participant(line, recipient, base + RECIPIENT, DATIVE)
        recipient = None
    if thing is not None and phrase is None and not preposition:
        _participant(line, thing, base + OBJECT, case)
        thing = None
    negative_article = (
        clause.negative and phrase is not None and phrase.determiner in ("a", "bare") and not preposition
    )
    # kaufte gestern das Auto, but: kaufte das Auto gestern nicht
    late_adverb = clause.negative and phrase is not None and not negative_article and not preposition
    if not late_adverb:
        _time(line, clause, base)
    if isinstance(recipient, NounPhrase):
        _noun_phrase(line, recipient, base + RECIPIENT, DATIVE)
    if phrase is not None and not preposition:
        _noun_phrase(line, phrase, base + OBJECT, case, NEGATION << base if negative_article else 0)
    if late_adverb:
        _time(line, clause, base)
    if clause.negative and not negative_article:
        line.add("nicht", NEGATION << base)
    if thing is not None and preposition:
        line.add(preposition, VERB << base)
        _participant(line, thing, base + OBJECT, case)
    _tail(line, clause, base)


def _time(line: Line, clause: Clause, base: int) -> None:
    if clause.tense in ("progressive", "past_progressive"):
        line.add("gerade", TENSE << base)
    if clause.adverb is not None and clause.adverb.kind != "manner" and not clause.fronted:
        line.add(clause.adverb.german, ADVERB << base)


def _tail(line: Line, clause: Clause, base: int) -> None:
    if clause.adverb is not None and clause.adverb.kind == "manner":
        line.add(clause.adverb.german, ADVERB << base)
    place = clause.place
    if clause.preposition is not None and place is not None:
        preposition, shift = clause.preposition.german, base + PLACE
        masculine_or_neuter = place.noun.german_gender != 1 and not place.plural
        if preposition == "in" and place.determiner == "the" and masculine_or_neuter:
            line.add("im", PREPOSITION << base | 1 << shift)
            _noun_phrase(line, place, shift, DATIVE, contracted=True)
        else:
            line.add(preposition, PREPOSITION << base)
            _noun_phrase(line, place, shift, DATIVE)
    if clause.predicate is not None:
        if clause.degree is not None:
            line.add(_DEGREES[clause.degree], DEGREE << base)
        line.add(clause.predicate.german, PREDICATE << base)


def _participant(line: Line, participant: Participant, shift: int, case: int) -> None:
    if isinstance(participant, NounPhrase):
        _noun_phrase(line, participant, shift, case)
        return
    if participant.noun is None:
        word = _PRONOUNS[participant.person, participant.plural][case]
    else:
        word = _THIRD[case][3 if participant.plural else participant.noun.german_gender]
    line.add(word, concept(participant, shift))


def _noun_phrase(
    line: Line, phrase: NounPhrase, shift: int, case: int, negation: int = 0, *, contracted: bool = False
) -> None:
    """With a negation the article is kein. A contracted article is part of the preposition."""
    column = 3 if phrase.plural else phrase.noun.german_gender
    forms, endings = _DETERMINERS["no" if negation else phrase.determiner]
    determiner = forms[case][column]
    if determiner and not contracted:
        line.add(determiner, 1 << shift | negation)
    if phrase.adjective is not None:
        line.add(phrase.adjective.german_stem + endings[case][column], 2 << shift)
    line.add(phrase.noun.german[phrase.plural][case], HEAD << shift)
