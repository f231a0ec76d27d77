"""Sentences written down by hand in the three languages, against what the grammar makes of them."""

import pytest

from qkv.data.worlds import DECK_SENTENCES, deck_pairs, english, german, spanish
from qkv.data.worlds.grammar import Clause, Determiner, NounPhrase, Participant, Pronoun, Role, Sentence
from qkv.data.worlds.lexicon import ADJECTIVES, ADVERBS, CONJUNCTIONS, NOUNS, PREPOSITIONS, VERBS

I, YOU, WE = Pronoun(1), Pronoun(2), Pronoun(1, plural=True)  # noqa: E741


def a(noun: str, determiner: Determiner = "the", adjective: str = "", *, plural: bool = False) -> NounPhrase:
    return NounPhrase(NOUNS[noun], determiner, plural, ADJECTIVES[adjective] if adjective else None)


def some(noun: str, determiner: Determiner = "the", adjective: str = "") -> NounPhrase:
    return a(noun, determiner, adjective, plural=True)


def it(noun: str, role: Role, *, plural: bool = False) -> Pronoun:
    return Pronoun(3, plural, NOUNS[noun], role)


def does(subject: Participant, verb: str, thing: Participant | None = None, **rest: object) -> Clause:
    for name, table in (("adverb", ADVERBS), ("preposition", PREPOSITIONS)):
        if name in rest:
            rest[name] = table[str(rest[name])]
    return Clause(subject=subject, verb=VERBS[verb], object=thing, **rest)  # type: ignore[arg-type]


def is_(subject: Participant, adjective: str, **rest: object) -> Clause:
    return Clause(subject=subject, predicate=ADJECTIVES[adjective], **rest)  # type: ignore[arg-type]


def say(main: Clause, *, written: bool = False) -> Sentence:
    return Sentence(main=main, written=written)


def ask(main: Clause) -> Sentence:
    return Sentence(main=main, question=True)


def join(main: Clause, conjunction: str, subordinate: Clause, *, written: bool = False) -> Sentence:
    return Sentence(
        main=main, conjunction=CONJUNCTIONS[conjunction], subordinate=subordinate, written=written
    )


DECKS = [
    ("the cat danced", "die Katze tanzte", "el gato bailó"),
    ("the baby is crying", "das Baby weint gerade", "el bebé está llorando"),
    ("I like cats", "ich mag Katzen", "me gustan los gatos"),
    (
        "my friends like tomatoes because they are tasty",
        "meine Freunde mögen Tomaten, weil sie lecker sind",
        "a mis amigos les gustan los tomates porque son sabrosos",
    ),
    (
        "the animal didn't cross the street because it was too tired",
        "das Tier überquerte die Straße nicht, weil es zu müde war",
        "el animal no cruzó la calle porque estaba demasiado cansado",
    ),
    (
        "the animal didn't cross the street because it was too wide",
        "das Tier überquerte die Straße nicht, weil sie zu breit war",
        "el animal no cruzó la calle porque era demasiado ancha",
    ),
]

BY_HAND = [
    (
        say(does(a("boy"), "run", tense="perfect")),
        ("the boy has run", "der Junge ist gelaufen", "el chico ha corrido"),
    ),
    (
        say(does(a("cat", "my"), "dance", tense="perfect", negative=True)),
        ("my cat hasn't danced", "meine Katze hat nicht getanzt", "mi gato no ha bailado"),
    ),
    (
        say(does(a("man"), "give", a("book", "a", "good"), tense="past", recipient=a("woman"))),
        (
            "the man gave a good book to the woman",
            "der Mann gab der Frau ein gutes Buch",
            "el hombre le dio un buen libro a la mujer",
        ),
    ),
    (
        say(does(a("queen"), "send", some("letter", "two", "long"), tense="future", recipient=some("child"))),
        (
            "the queen will send two long letters to the children",
            "die Königin wird den Kindern zwei lange Briefe schicken",
            "la reina les va a enviar dos cartas largas a los niños",
        ),
    ),
    (
        say(does(a("teacher", "your"), "show", a("picture"), tense="past", recipient=I)),
        (
            "your teacher showed me the picture",
            "dein Lehrer zeigte mir das Bild",
            "tu profesor me mostró el cuadro",
        ),
    ),
    (
        say(does(a("aunt"), "call", a("neighbour", "our"), tense="past", adverb="yesterday", fronted=True)),
        (
            "yesterday the aunt called our neighbour",
            "gestern rief die Tante unseren Nachbarn an",
            "ayer la tía llamó a nuestro vecino",
        ),
    ),
    (
        ask(does(YOU, "like", a("apple", "bare", "green", plural=True))),
        ("do you like green apples?", "magst du grüne Äpfel?", "¿te gustan las manzanas verdes?"),
    ),
    (
        ask(does(a("cat"), "dance", tense="past")),
        ("did the cat dance?", "tanzte die Katze?", "¿bailó el gato?"),
    ),
    (
        ask(does(a("dog", "this"), "wash", a("car"), tense="progressive")),
        (
            "is this dog washing the car?",
            "wäscht dieser Hund gerade das Auto?",
            "¿está lavando este perro el coche?",
        ),
    ),
    (
        ask(is_(a("soup"), "hot", degree="very")),
        ("is the soup very hot?", "ist die Suppe sehr heiß?", "¿está muy caliente la sopa?"),
    ),
    (
        say(does(I, "have", a("dog", "a", "small"), negative=True)),
        ("I don't have a small dog", "ich habe keinen kleinen Hund", "no tengo un perro pequeño"),
    ),
    (
        say(does(a("sister", "my"), "buy", a("tomato", "bare", plural=True), tense="past", negative=True)),
        (
            "my sister didn't buy tomatoes",
            "meine Schwester kaufte keine Tomaten",
            "mi hermana no compró tomates",
        ),
    ),
    (
        say(does(a("king"), "see", a("lion"), tense="past", negative=True, adverb="yesterday")),
        (
            "the king didn't see the lion yesterday",
            "der König sah den Löwen gestern nicht",
            "el rey no vio al león ayer",
        ),
    ),
    (
        say(does(some("girl"), "sing", tense="present", modal="want", negative=True)),
        ("the girls don't want to sing", "die Mädchen wollen nicht singen", "las chicas no quieren cantar"),
    ),
    (
        say(does(WE, "help", some("farmer", "the", "old"), modal="must")),
        (
            "we have to help the old farmers",
            "wir müssen den alten Bauern helfen",
            "tenemos que ayudar a los granjeros viejos",
        ),
    ),
    (
        say(does(YOU, "open", a("window"), modal="can", tense="past", negative=True)),
        (
            "you couldn't open the window",
            "du konntest das Fenster nicht öffnen",
            "no podías abrir la ventana",
        ),
    ),
    (
        say(does(a("doctor"), "listen", a("singer", "a"), tense="present")),
        (
            "the doctor listens to a singer",
            "die Ärztin hört einer Sängerin zu",
            "la doctora escucha a una cantante",
        ),
    ),
    (
        say(does(some("tourist"), "wait", a("bus"), tense="progressive", negative=True)),
        (
            "the tourists aren't waiting for the bus",
            "die Touristen warten gerade nicht auf den Bus",
            "los turistas no están esperando el autobús",
        ),
    ),
    (
        say(
            does(some("child"), "play", tense="present", preposition="in", place=a("garden"), adverb="often")
        ),
        (
            "the children often play in the garden",
            "die Kinder spielen oft im Garten",
            "los niños juegan a menudo en el jardín",
        ),
    ),
    (
        say(does(a("bear", "a"), "sleep", tense="past", preposition="behind", place=a("castle"))),
        (
            "a bear slept behind the castle",
            "ein Bär schlief hinter dem Schloss",
            "un oso durmió detrás del castillo",
        ),
    ),
    (
        say(does(I, "dance", tense="past", preposition="with", place=some("guest", "your"), adverb="slowly")),
        (
            "I danced slowly with your guests",
            "ich tanzte langsam mit deinen Gästen",
            "bailé lentamente con tus invitados",
        ),
    ),
    (
        say(is_(some("chair", "this"), "expensive", negative=True)),
        ("these chairs aren't expensive", "diese Stühle sind nicht teuer", "estas sillas no son caras"),
    ),
    (
        say(does(a("woman"), "buy", a("car", "a", "expensive"), tense="perfect"), written=True),
        (
            "The woman has bought an expensive car.",
            "Die Frau hat ein teures Auto gekauft.",
            "La mujer ha comprado un coche caro.",
        ),
    ),
    (
        join(
            does(a("man"), "sell", a("table"), tense="past"),
            "because",
            is_(it("table", "object"), "heavy", tense="past", degree="too"),
        ),
        (
            "the man sold the table because it was too heavy",
            "der Mann verkaufte den Tisch, weil er zu schwer war",
            "el hombre vendió la mesa porque era demasiado pesada",
        ),
    ),
    (
        join(
            does(a("cow"), "cross", a("bridge"), tense="past"),
            "because",
            is_(it("cow", "subject"), "thirsty", tense="past"),
        ),
        (
            "the cow crossed the bridge because it was thirsty",
            "die Kuh überquerte die Brücke, weil sie durstig war",
            "la vaca cruzó el puente porque estaba sedienta",
        ),
    ),
    (
        join(
            does(a("mouse"), "run", tense="past"),
            "because",
            does(a("dog"), "chase", it("mouse", "subject"), tense="past"),
            written=True,
        ),
        (
            "The mouse ran because the dog chased it.",
            "Die Maus lief, weil der Hund sie jagte.",
            "El ratón corrió porque el perro lo persiguió.",
        ),
    ),
    (
        join(
            does(a("girl"), "laugh", tense="past"),
            "when",
            does(some("boy"), "follow", it("girl", "subject"), tense="past_progressive"),
        ),
        (
            "the girl laughed when the boys were following her",
            "das Mädchen lachte, als die Jungen ihm gerade folgten",
            "la chica rio cuando los chicos la estaban siguiendo",
        ),
    ),
    (
        join(
            does(some("boy", "the", "happy"), "write", a("song", "a"), tense="past"),
            "although",
            does(it("boy", "subject", plural=True), "work", modal="must", tense="past"),
        ),
        (
            "the happy boys wrote a song although they had to work",
            "die glücklichen Jungen schrieben ein Lied, obwohl sie arbeiten mussten",
            "los chicos felices escribieron una canción aunque tenían que trabajar",
        ),
    ),
    (
        join(does(a("brother", "my"), "cry"), "because", does(a("aunt"), "invite", I, negative=True)),
        (
            "my brother cries because the aunt doesn't invite me",
            "mein Bruder weint, weil die Tante mich nicht einlädt",
            "mi hermano llora porque la tía no me invita",
        ),
    ),
    (
        join(does(a("dog", "your"), "bark", tense="past"), "because", is_(I, "sick", tense="past")),
        (
            "your dog barked because I was sick",
            "dein Hund bellte, weil ich krank war",
            "tu perro ladró porque yo estaba enfermo",
        ),
    ),
    (
        join(does(I, "eat", a("cake"), tense="past"), "because", is_(I, "hungry", tense="past")),
        (
            "I ate the cake because I was hungry",
            "ich aß den Kuchen, weil ich hungrig war",
            "comí el pastel porque estaba hambriento",
        ),
    ),
    (
        join(
            does(a("frog"), "like", a("flower", "this"), negative=True),
            "because",
            is_(it("flower", "object"), "ugly"),
        ),
        (
            "the frog doesn't like this flower because it is ugly",
            "der Frosch mag diese Blume nicht, weil sie hässlich ist",
            "a la rana no le gusta esta flor porque es fea",
        ),
    ),
]


def in_three_languages(sentence: Sentence) -> tuple[str, str, str]:
    return (
        english.linearise(sentence).text(),
        german.linearise(sentence).text(),
        spanish.linearise(sentence).text(),
    )


@pytest.mark.parametrize(("sentence", "expected"), list(zip(DECK_SENTENCES, DECKS, strict=True)))
def test_the_decks_sentences_read_as_in_the_decks(sentence: Sentence, expected: tuple[str, str, str]) -> None:
    assert in_three_languages(sentence) == expected


@pytest.mark.parametrize(("sentence", "expected"), BY_HAND, ids=[texts[0] for _, texts in BY_HAND])
def test_the_grammar_produces_idiomatic_sentences(sentence: Sentence, expected: tuple[str, str, str]) -> None:
    assert in_three_languages(sentence) == expected


def test_deck_pairs_go_in_every_direction() -> None:
    assert [(pair.source, pair.target) for pair in deck_pairs("es", "de")] == [
        (spanish_text, german_text) for _, german_text, spanish_text in DECKS
    ]
