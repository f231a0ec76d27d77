"""Spanish: dropped pronouns, agreement, ser and estar, the personal a, gustar."""

from qkv.data.worlds.grammar import (
    ADVERB,
    CONJUNCTION,
    DEFINITE,
    DEGREE,
    END,
    HEAD,
    MODAL,
    NEGATION,
    NOUN,
    OBJECT,
    PLACE,
    PREDICATE,
    PREPOSITION,
    RECIPIENT,
    REFERENCE,
    SUBJECT,
    SUBORDINATE,
    TENSE,
    VERB,
    Clause,
    Line,
    NounPhrase,
    Participant,
    Pronoun,
    Sentence,
    concept,
)

# masculine, feminine; the same in the plural
_DETERMINERS = {
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "unos", "unas"),
    "my": ("mi", "mi", "mis", "mis"),
    "your": ("tu", "tu", "tus", "tus"),
    "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
    "this": ("este", "esta", "estos", "estas"),
    "two": ("dos",) * 4,
    "three": ("tres",) * 4,
    "many": ("mucho", "mucha", "muchos", "muchas"),
    "some": ("alguno", "alguna", "algunos", "algunas"),
}
_SUBJECTS = {(1, False): "yo", (2, False): "tú", (1, True): "nosotros"}
_CLITICS = {(1, False): "me", (2, False): "te", (1, True): "nos"}
_DIRECT = ("lo", "la", "los", "las")
_INDIRECT = ("le", "les")

# yo, tú, él/ella, nosotros, ellos/ellas
_SER = (("soy", "eres", "es", "somos", "son"), ("era", "eras", "era", "éramos", "eran"))
_ESTAR = (
    ("estoy", "estás", "está", "estamos", "están"),
    ("estaba", "estabas", "estaba", "estábamos", "estaban"),
)
_HABER = ("he", "has", "ha", "hemos", "han")
_IR = ("voy", "vas", "va", "vamos", "van")
_MODALS = {
    "can": (
        ("puedo", "puedes", "puede", "podemos", "pueden"),
        ("podía", "podías", "podía", "podíamos", "podían"),
    ),
    "want": (
        ("quiero", "quieres", "quiere", "queremos", "quieren"),
        ("quería", "querías", "quería", "queríamos", "querían"),
    ),
    "must": (
        ("tengo", "tienes", "tiene", "tenemos", "tienen"),
        ("tenía", "tenías", "tenía", "teníamos", "tenían"),
    ),
}
_DEGREES = {"very": "muy", "too": "demasiado"}


def linearise(sentence: Sentence) -> Line:
    line = Line()
    if sentence.question:
        line.add("¿", END)
    _clause(line, sentence.main, 0, question=sentence.question)
    for clause in sentence.between:
        coordinate = Line()
        _clause(coordinate, clause, 0, overt=True)
        line.insert("y", coordinate)
    if sentence.subordinate is not None and sentence.conjunction is not None:
        if sentence.between:
            line.add(",", 0)
        line.add(sentence.conjunction.spanish, CONJUNCTION)
        # "porque estaba cansado" refers to the subject of the main clause; a new subject needs a pronoun.
        subject = sentence.subordinate.subject
        new = isinstance(subject, Pronoun) and not subject.antecedent and subject != sentence.main.subject
        _clause(line, sentence.subordinate, SUBORDINATE, overt=new)
    line.close(sentence)
    return line


def _clause(line: Line, clause: Clause, base: int, *, question: bool = False, overt: bool = False) -> None:
    adverb = clause.adverb
    if adverb is not None and clause.fronted:
        line.add(adverb.spanish, ADVERB << base)
    if clause.verb is not None and "experiencer" in clause.verb.tags:
        _experience(line, clause, base)
        return
    subject = clause.subject
    dropped = isinstance(subject, Pronoun) and not overt
    if not dropped and not question:
        _subject(line, subject, base)
    _before_verb(line, clause, base)
    _verb_group(line, clause, base, NOUN << base if dropped else 0)
    if adverb is not None and adverb.kind != "time" and not adverb.early:
        line.add(adverb.spanish, ADVERB << base)  # está a menudo cansado, lava rápidamente el coche
    if clause.predicate is not None:
        _predicate(line, clause, base)
    if question and not dropped:
        _subject(line, subject, base)
    _after_verb(line, clause, base)


def _subject(line: Line, subject: Participant, base: int) -> None:
    if isinstance(subject, NounPhrase):
        _noun_phrase(line, subject, base + SUBJECT)
    else:
        line.add(_SUBJECTS[subject.person, subject.plural], NOUN << base + SUBJECT)


def _experience(line: Line, clause: Clause, base: int) -> None:
    """I like cats: me gustan los gatos. The object becomes the subject, and the subject is in the dative."""
    verb, liked, who = clause.verb, clause.object, clause.subject
    assert verb is not None
    assert isinstance(liked, NounPhrase)
    if isinstance(who, NounPhrase):
        _noun_phrase(line, who, base + SUBJECT, "a", NOUN << base + SUBJECT)
    if clause.adverb is not None and clause.adverb.early:
        line.add(clause.adverb.spanish, ADVERB << base)
    if clause.negative:
        line.add("no", NEGATION << base)
    if who.person == 3:
        line.add(_INDIRECT[who.plural], concept(who, base + SUBJECT))
    else:
        line.add(_CLITICS[who.person, who.plural], concept(who, base + SUBJECT))
    forms = verb.spanish.imperfect if clause.tense == "past" else verb.spanish.present
    line.add(forms[4 if liked.plural else 2], (VERB | TENSE) << base)
    if liked.determiner == "bare":  # nouns in general have the article
        line.add(_DETERMINERS["the"][_agreement(liked)], NOUN << base + OBJECT)
    _noun_phrase(line, liked, base + OBJECT)
    _adverbials(line, clause, base)


def _before_verb(line: Line, clause: Clause, base: int) -> None:
    if clause.adverb is not None and clause.adverb.early:
        line.add(clause.adverb.spanish, ADVERB << base)
    if clause.negative:
        line.add("no", NEGATION << base)
    recipient, thing = clause.recipient, clause.object
    if recipient is not None:
        mask = concept(recipient, base + RECIPIENT)
        if recipient.person == 3:
            line.add(_INDIRECT[recipient.plural], mask)
        else:
            line.add(_CLITICS[recipient.person, recipient.plural], mask)
    if isinstance(thing, Pronoun):
        mask = concept(thing, base + OBJECT)
        if thing.noun is not None:
            line.add(_DIRECT[_agreement(thing)], mask)
        else:
            line.add(_CLITICS[thing.person, thing.plural], mask)


def _verb_group(line: Line, clause: Clause, base: int, subject_mask: int) -> None:
    """The finite verb expresses a dropped subject, and its reference unless an adjective agrees with it."""
    subject = clause.subject
    slot = (3 if subject.person == 1 else 4) if subject.plural else subject.person - 1
    past = clause.tense in ("past", "past_progressive")
    tense, lexical = TENSE << base | subject_mask, VERB << base
    if clause.predicate is not None:
        line.add((_ESTAR if clause.predicate.estar else _SER)[past][slot], tense | lexical)
        return
    assert clause.verb is not None
    if isinstance(subject, Pronoun) and subject.antecedent:
        tense |= REFERENCE
    verb = clause.verb.spanish
    if clause.modal is not None:
        line.add(_MODALS[clause.modal][past][slot], tense | MODAL << base)
        if clause.modal == "must":
            line.add("que", MODAL << base)
        line.add(verb.infinitive, lexical)
    elif clause.tense in ("progressive", "past_progressive"):
        line.add(_ESTAR[past][slot], tense)
        line.add(verb.gerund, lexical)
    elif clause.tense == "perfect":
        line.add(_HABER[slot], tense)
        line.add(verb.participle, lexical)
    elif clause.tense == "future":
        line.add(_IR[slot], tense)
        line.add("a", TENSE << base)
        line.add(verb.infinitive, lexical)
    elif past:
        forms = verb.imperfect if "stative" in clause.verb.tags else verb.preterite
        line.add(forms[slot], tense | lexical)
    else:
        line.add(verb.present[slot], tense | lexical)


def _predicate(line: Line, clause: Clause, base: int) -> None:
    assert clause.predicate is not None
    if clause.degree is not None:
        line.add(_DEGREES[clause.degree], DEGREE << base)
    subject = clause.subject
    reference = REFERENCE if isinstance(subject, Pronoun) and subject.antecedent else 0
    line.add(clause.predicate.spanish[_agreement(subject)], PREDICATE << base | reference)


def _after_verb(line: Line, clause: Clause, base: int) -> None:
    thing, recipient = clause.object, clause.recipient
    if isinstance(thing, NounPhrase):
        personal = clause.verb is not None and "inanimate" not in clause.verb.tags and _takes_a(thing)
        _noun_phrase(line, thing, base + OBJECT, "a" if personal else "", NOUN << base + OBJECT)
    if isinstance(recipient, NounPhrase):
        _noun_phrase(line, recipient, base + RECIPIENT, "a", NOUN << base + RECIPIENT)
    _adverbials(line, clause, base)


def _adverbials(line: Line, clause: Clause, base: int) -> None:
    adverb = clause.adverb
    if clause.preposition is not None and clause.place is not None:
        _noun_phrase(line, clause.place, base + PLACE, clause.preposition.spanish, PREPOSITION << base)
    if adverb is not None and adverb.kind == "time" and not clause.fronted:
        line.add(adverb.spanish, ADVERB << base)


def _takes_a(phrase: NounPhrase) -> bool:
    if "human" in phrase.noun.tags:
        return phrase.determiner != "bare"
    return "animal" in phrase.noun.tags and phrase.determiner in DEFINITE


def _agreement(participant: Participant) -> int:
    gender = participant.noun.spanish_gender if participant.noun is not None else 0
    return gender + 2 * participant.plural


def _noun_phrase(line: Line, phrase: NounPhrase, shift: int, preposition: str = "", mask: int = 0) -> None:
    agreement = _agreement(phrase)
    determiner = _DETERMINERS[phrase.determiner][agreement] if phrase.determiner != "bare" else ""
    if determiner == "el" and preposition.endswith(("a", "de")):  # a el = al, detrás de el = detrás del
        *before, last = preposition.split()
        for word in before:
            line.add(word, mask)
        line.add(last + "l", mask | 1 << shift)
    else:
        if preposition:
            line.add(preposition, mask)
        if determiner:
            line.add(determiner, 1 << shift)
    noun, adjective = phrase.noun.spanish[phrase.plural], phrase.adjective
    if adjective is None:
        line.add(noun, HEAD << shift)
    elif adjective.before:
        form = adjective.spanish[agreement]
        line.add(form[:-1] if agreement == 0 else form, 2 << shift)  # bueno, but: un buen libro
        line.add(noun, HEAD << shift)
    else:
        line.add(noun, HEAD << shift)
        line.add(adjective.spanish[agreement], 2 << shift)
