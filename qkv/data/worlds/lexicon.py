"""The words of the three languages, one line each: nouns, adjectives, verbs, adverbs, prepositions.

In each language all lemmas are different, so that a word has one translation in every direction.
"""

from dataclasses import dataclass

from qkv.data.worlds.morphology import (
    EnglishVerb,
    GermanVerb,
    SpanishVerb,
    english_plural,
    english_verb,
    german_verb,
    spanish_adjective,
    spanish_plural,
    spanish_verb,
)


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    name: str
    english: tuple[str, str]  # singular, plural
    english_pronoun: str  # he, she or it
    german: tuple[tuple[str, str, str], tuple[str, str, str]]  # [plural][nominative, accusative, dative]
    german_gender: int  # 0 der, 1 die, 2 das
    spanish: tuple[str, str]
    spanish_gender: int  # 0 el, 1 la
    tags: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    name: str
    german: str
    german_stem: str  # teuer, but ein teures Auto
    spanish: tuple[str, str, str, str]  # masculine, feminine; the same in the plural
    estar: bool
    before: bool  # before its noun in Spanish: un buen libro
    reason: bool  # can be a reason ("because it was tired"), unlike colours
    nouns: tuple[Noun, ...]  # nouns that it can describe


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    name: str
    english: EnglishVerb
    german: GermanVerb
    spanish: SpanishVerb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    tags: frozenset[str]
    personal: bool  # the speaker or the listener can be the subject


@dataclass(frozen=True, eq=False, slots=True)
class Adverb:
    name: str
    german: str
    spanish: str
    kind: str  # time, frequency or manner
    tenses: frozenset[str]
    early: bool  # before the verb in Spanish: siempre baila


@dataclass(frozen=True, eq=False, slots=True)
class Preposition:
    name: str
    german: str
    spanish: str
    tag: str  # of the nouns that it takes


@dataclass(frozen=True, eq=False, slots=True)
class Conjunction:
    name: str
    german: str
    spanish: str


# english [plural] | german | spanish | tags
# tags: weak (German n-declension), mass (no plural), single (no plural, but counted), it (a person called it),
# unowned (not my man); the other tags are used by the adjectives, verbs and prepositions below
_NOUNS = """
man men | der Mann Männer | el hombre | human unowned
woman women | die Frau Frauen | la mujer | human unowned
boy | der Junge Jungen | el chico | human weak unowned
girl | das Mädchen Mädchen | la chica | human unowned
child children | das Kind Kinder | el niño | human it
baby | das Baby Babys | el bebé | human it
friend | der Freund Freunde | el amigo | human
teacher | der Lehrer Lehrer | el profesor | human
doctor | die Ärztin Ärztinnen | la doctora | human
neighbour | der Nachbar Nachbarn | el vecino | human weak
brother | der Bruder Brüder | el hermano | human
sister | die Schwester Schwestern | la hermana | human
father | der Vater Väter | el padre | human single
mother | die Mutter Mütter | la madre | human single
grandmother | die Großmutter Großmütter | la abuela | human
uncle | der Onkel Onkel | el tío | human
aunt | die Tante Tanten | la tía | human
daughter | die Tochter Töchter | la hija | human
son | der Sohn Söhne | el hijo | human
queen | die Königin Königinnen | la reina | human
king | der König Könige | el rey | human
farmer | der Bauer Bauern | el granjero | human weak
singer | die Sängerin Sängerinnen | la cantante | human
painter | die Malerin Malerinnen | la pintora | human
baker | der Bäcker Bäcker | el panadero | human
tourist | der Tourist Touristen | el turista | human weak
judge | die Richterin Richterinnen | la jueza | human
guest | der Gast Gäste | el invitado | human
animal | das Tier Tiere | el animal | animal
cat | die Katze Katzen | el gato | animal
dog | der Hund Hunde | el perro | animal barking
horse | das Pferd Pferde | el caballo | animal
bird | der Vogel Vögel | el pájaro | animal flying singing
cow | die Kuh Kühe | la vaca | animal
pig | das Schwein Schweine | el cerdo | animal
mouse mice | die Maus Mäuse | el ratón | animal
bear | der Bär Bären | el oso | animal weak
lion | der Löwe Löwen | el león | animal weak
duck | die Ente Enten | el pato | animal flying
rabbit | das Kaninchen Kaninchen | el conejo | animal
monkey | der Affe Affen | el mono | animal weak
elephant | der Elefant Elefanten | el elefante | animal weak
tiger | der Tiger Tiger | el tigre | animal
frog | der Frosch Frösche | la rana | animal
wolf wolves | der Wolf Wölfe | el lobo | animal
fox | der Fuchs Füchse | el zorro | animal
bee | die Biene Bienen | la abeja | animal flying
turtle | die Schildkröte Schildkröten | la tortuga | animal
goat | die Ziege Ziegen | la cabra | animal
giraffe | die Giraffe Giraffen | la jirafa | animal
tomato tomatoes | die Tomate Tomaten | el tomate | food fruit
apple | der Apfel Äpfel | la manzana | food fruit
banana | die Banane Bananen | el plátano | food fruit
pear | die Birne Birnen | la pera | food fruit
strawberry | die Erdbeere Erdbeeren | la fresa | food fruit
lemon | die Zitrone Zitronen | el limón | food fruit
potato potatoes | die Kartoffel Kartoffeln | la patata | food cooked
carrot | die Karotte Karotten | la zanahoria | food cooked
onion | die Zwiebel Zwiebeln | la cebolla | food cooked
egg | das Ei Eier | el huevo | food cooked
cake | der Kuchen Kuchen | el pastel | food
cookie | der Keks Kekse | la galleta | food
salad | der Salat Salate | la ensalada | food
bread | das Brot Brote | el pan | food mass
cheese | der Käse Käse | el queso | food mass
soup | die Suppe Suppen | la sopa | food cooked mass
meat | das Fleisch Fleisch | la carne | food cooked mass
rice | der Reis Reis | el arroz | food cooked mass
milk | die Milch Milch | la leche | drink mass
coffee | der Kaffee Kaffee | el café | drink mass
tea | der Tee Tee | el té | drink mass
juice | der Saft Säfte | el zumo | drink mass
wine | der Wein Weine | el vino | drink mass
beer | das Bier Biere | la cerveza | drink mass
table | der Tisch Tische | la mesa | thing furniture
chair | der Stuhl Stühle | la silla | thing furniture
lamp | die Lampe Lampen | la lámpara | thing furniture machine
bag | die Tasche Taschen | la bolsa | thing small container
cup | die Tasse Tassen | la taza | thing small container
bottle | die Flasche Flaschen | la botella | thing small container
box | die Kiste Kisten | la caja | thing small container
suitcase | der Koffer Koffer | la maleta | thing small container
knife knives | das Messer Messer | el cuchillo | thing small
key | der Schlüssel Schlüssel | la llave | thing small
phone | das Telefon Telefone | el teléfono | thing small machine
ball | der Ball Bälle | la pelota | thing small
clock | die Uhr Uhren | el reloj | thing small machine
guitar | die Gitarre Gitarren | la guitarra | thing small
mirror | der Spiegel Spiegel | el espejo | thing furniture
ring | der Ring Ringe | el anillo | thing small
computer | der Computer Computer | el ordenador | thing machine
camera | die Kamera Kameras | la cámara | thing small machine
gift | das Geschenk Geschenke | el regalo | thing small
door | die Tür Türen | la puerta | door
window | das Fenster Fenster | la ventana | door
shirt | das Hemd Hemden | la camisa | clothing
dress | das Kleid Kleider | el vestido | clothing
shoe | der Schuh Schuhe | el zapato | clothing
hat | der Hut Hüte | el sombrero | clothing
coat | der Mantel Mäntel | el abrigo | clothing
jacket | die Jacke Jacken | la chaqueta | clothing
car | das Auto Autos | el coche | vehicle driven
bus | der Bus Busse | el autobús | vehicle driven
train | der Zug Züge | el tren | vehicle
bicycle | das Fahrrad Fahrräder | la bicicleta | vehicle
ship | das Schiff Schiffe | el barco | vehicle
plane | das Flugzeug Flugzeuge | el avión | vehicle flying
truck | der Lastwagen Lastwagen | el camión | vehicle driven
house | das Haus Häuser | la casa | building inside
school | die Schule Schulen | la escuela | building inside
church | die Kirche Kirchen | la iglesia | building inside
hotel | das Hotel Hotels | el hotel | building inside
museum | das Museum Museen | el museo | building inside
library | die Bibliothek Bibliotheken | la biblioteca | building inside
castle | das Schloss Schlösser | el castillo | building inside
tower | der Turm Türme | la torre | building
kitchen | die Küche Küchen | la cocina | room inside
room | das Zimmer Zimmer | la habitación | room inside
garden | der Garten Gärten | el jardín | place inside
park | der Park Parks | el parque | place inside
forest | der Wald Wälder | el bosque | place inside
city | die Stadt Städte | la ciudad | place inside
village | das Dorf Dörfer | el pueblo | place inside
street | die Straße Straßen | la calle | way built
river | der Fluss Flüsse | el río | way deep
bridge | die Brücke Brücken | el puente | way built
path | der Weg Wege | el camino | way built
valley | das Tal Täler | el valle | way deep
field | das Feld Felder | el campo | way
tree | der Baum Bäume | el árbol | plant
flower | die Blume Blumen | la flor | plant
book | das Buch Bücher | el libro | text written small
letter | der Brief Briefe | la carta | text written small
newspaper | die Zeitung Zeitungen | el periódico | text small
story | die Geschichte Geschichten | la historia | text written told
poem | das Gedicht Gedichte | el poema | text written told
song | das Lied Lieder | la canción | text sung
film | der Film Filme | la película | text
picture | das Bild Bilder | el cuadro | art
"""

# english | german [attributive stem] | spanish [estar] [before] | nouns | colour
_ADJECTIVES = """
tired | müde müd | cansado estar | human animal
hungry | hungrig | hambriento estar | human animal
thirsty | durstig | sediento estar | human animal
sad | traurig | triste estar | human animal
happy | glücklich | feliz estar | human animal
angry | wütend | enfadado estar | human animal
sick | krank | enfermo estar | human animal
nervous | nervös | nervioso estar | human animal
intelligent | intelligent | inteligente | human animal
lazy | faul | perezoso | human animal
brave | mutig | valiente | human animal
strong | stark | fuerte | human animal
weak | schwach | débil | human animal
young | jung | joven | human animal
kind | freundlich | amable | human
rich | reich | rico | human
poor | arm | pobre | human
famous | berühmt | famoso | human building text art
fast | schnell | rápido | vehicle animal
slow | langsam | lento | vehicle animal
dangerous | gefährlich | peligroso | way animal
wide | breit | ancho | way
narrow | schmal | estrecho | way
long | lang | largo | way text
deep | tief | profundo | deep
tasty | lecker | sabroso | food drink
sweet | süß | dulce | fruit drink
bitter | bitter | amargo | drink fruit
salty | salzig | salado | cooked
fresh | frisch | fresco | food
ripe | reif | maduro estar | fruit
cold | kalt | frío estar | drink cooked room
hot | heiß | caliente estar | drink cooked
heavy | schwer | pesado | thing
light | leicht | ligero | small clothing
full | voll | lleno estar | container
empty | leer | vacío estar | container room
broken | kaputt | roto estar | machine door vehicle furniture
open | offen | abierto estar | door
closed | geschlossen | cerrado estar | door
dirty | schmutzig | sucio estar | clothing vehicle room container door
clean | sauber | limpio estar | clothing vehicle room container door
wet | nass | mojado estar | clothing
expensive | teuer teur | caro | thing clothing vehicle food art
cheap | billig | barato | thing clothing vehicle food art
modern | modern | moderno | building vehicle machine furniture art
old | alt | viejo | human animal building thing vehicle text way plant
new | neu | nuevo | thing vehicle clothing building
big | groß | grande | animal building thing vehicle plant place room
small | klein | pequeño | animal building thing vehicle plant place room fruit
beautiful | schön | bonito | building place plant clothing text art
ugly | hässlich | feo | building clothing furniture art
interesting | interessant | interesante | text place art
boring | langweilig | aburrido | text place
good | gut | bueno before | text
red | rot | rojo | clothing vehicle container plant fruit | colour
blue | blau | azul | clothing vehicle container furniture | colour
green | grün | verde | clothing vehicle plant fruit | colour
white | weiß | blanco | clothing vehicle animal furniture | colour
black | schwarz | negro | clothing vehicle animal furniture | colour
"""

# english | german | spanish | subjects | objects | tags
# tags: stative (simple tenses only, Spanish imperfect), experiencer (me gusta), given (takes a recipient),
# manner and place (may have such an adverbial), inanimate (no personal a), instant (no progressive),
# nopast (read = read)
_VERBS = """
dance | tanzen | bailar | human animal | | manner place
sing sang sung | singen singt sang gesungen | cantar | human singing | | manner place
cry | weinen | llorar | human | | place
sleep slept slept | schlafen schläft schlief geschlafen | dormir ue | human animal | | place
laugh | lachen | reír present=río,ríes,ríe,reímos,ríen past=reí,reíste,rio,reímos,rieron gerund=riendo participle=reído | human | | place
run! ran run | laufen läuft lief gelaufen ;sein | correr | human animal | | manner place
swim! swam swum | schwimmen schwimmt schwamm geschwommen ;sein | nadar | human animal | | manner
work | arbeiten | trabajar | human | | manner place
play | spielen | jugar ue | human animal | | place
arrive | an+kommen kommt kam gekommen ;sein | llegar | human vehicle | | instant
fly flew flown | fliegen fliegt flog geflogen ;sein | volar ue | flying | | manner
grow grew grown | wachsen wächst wuchs gewachsen ;sein | crecer yo=crezco | plant | | manner place
bark | bellen | ladrar | barking | | place
see saw seen | sehen sieht sah gesehen | ver yo=veo past=vi,viste,vio,vimos,vieron participle=visto | human animal | human animal building way vehicle plant | instant
buy bought bought | kaufen | comprar | human | food drink thing clothing vehicle written | inanimate
sell sold sold | *verkaufen | vender | human | food drink thing clothing vehicle building | inanimate
eat ate eaten | essen isst aß gegessen | comer | human animal | food |
drink drank drunk | trinken trinkt trank getrunken | beber | human | drink |
read read read | lesen liest las gelesen | leer past=leí,leíste,leyó,leímos,leyeron gerund=leyendo participle=leído | human | written | nopast place
write wrote written | schreiben schreibt schrieb geschrieben | escribir participle=escrito | human | written sung |
find found found | finden findet fand gefunden | encontrar ue | human animal | human animal small clothing | instant
look:for | suchen | buscar | human animal | human animal small clothing |
wash | waschen wäscht wusch gewaschen | lavar | human | clothing vehicle container fruit animal | manner
open | öffnen | abrir participle=abierto | human | door container | manner
close | schließen schließt schloss geschlossen | cerrar ie | human | door container | manner
cross | *überqueren | cruzar | human animal driven | way |
visit | *besuchen | visitar | human | human building place |
chase | jagen | perseguir i yo=persigo | animal | animal human |
follow | folgen ;sein dat | seguir i yo=sigo | human animal | human animal |
help | helfen hilft half geholfen ;dat | ayudar | human | human animal |
call | an+rufen ruft rief gerufen | llamar | human | human |
invite | ein+laden lädt lud geladen | invitar | human | human |
wait:for | warten ;auf | esperar | human animal | human vehicle |
listen:to | zu+hören ;dat | escuchar | human | human singing |
kiss | küssen | besar | human | human animal |
carry | tragen trägt trug getragen | llevar | human animal | thing text food |
build built built | bauen | construir present=construyo,construyes,construye,construimos,construyen past=construí,construiste,construyó,construimos,construyeron gerund=construyendo participle=construido | human | building built furniture |
draw drew drawn | zeichnen | dibujar | human | animal building plant way | manner inanimate
paint | malen | pintar | human | building plant art animal | inanimate
cook | kochen | cocinar | human | cooked |
repair | *reparieren | reparar | human | machine vehicle door furniture | manner
steal stole stolen | stehlen stiehlt stahl gestohlen | robar | human monkey | small clothing vehicle art food |
forget! forgot forgotten | vergessen vergisst vergaß vergessen | olvidar | human | small clothing text | instant
drive drove driven | fahren fährt fuhr gefahren | conducir yo=conduzco past=conduje,condujiste,condujo,condujimos,condujeron | human | driven | manner
bite bit bitten | beißen beißt biss gebissen | morder ue | animal | human animal |
like | mögen mag mochte gemocht | gustar | human animal | food drink animal building place text art clothing | stative experiencer
love | lieben | encantar | human animal | food drink animal place text art | stative experiencer
have had had | haben hat hatte gehabt | tener ie yo=tengo past=tuve,tuviste,tuvo,tuvimos,tuvieron | human | animal thing vehicle clothing written | stative inanimate
need | brauchen | necesitar | human | thing vehicle clothing food | stative inanimate
know knew known | kennen kennt kannte gekannt | conocer yo=conozco | human | human place building text way | stative
give gave given | geben gibt gab gegeben | dar present=doy,das,da,damos,dan past=di,diste,dio,dimos,dieron | human | small food drink clothing written | given inanimate
show showed shown | zeigen | mostrar ue | human | thing clothing text art building | given inanimate
send sent sent | schicken | enviar present=envío,envías,envía,enviamos,envían | human | small clothing written | given inanimate
bring brought brought | bringen bringt brachte gebracht | traer yo=traigo past=traje,trajiste,trajo,trajimos,trajeron gerund=trayendo participle=traído | human | small food drink clothing | given inanimate
tell told told | *erzählen | contar ue | human | told | given inanimate
"""

# english | german | spanish | kind | tenses | early
_ADVERBS = """
yesterday | gestern | ayer | time | past
today | heute | hoy | time | present past perfect future
tomorrow | morgen | mañana | time | future
now | jetzt | ahora | time | present
soon | bald | pronto | time | future
here | hier | aquí | time | present past perfect future
every day | jeden Tag | todos los días | time | present
always | immer | siempre | frequency | present past | early
never | nie | nunca | frequency | present past perfect | early
often | oft | a menudo | frequency | present past perfect
sometimes | manchmal | a veces | frequency | present past | early
quickly | schnell | rápidamente | manner | present past perfect future progressive past_progressive
slowly | langsam | lentamente | manner | present past perfect future progressive past_progressive
quietly | leise | silenciosamente | manner | present past perfect future progressive past_progressive
well | gut | bien | manner | present past perfect future
"""

_PREPOSITIONS = """
in | in | en | inside
with | mit | con | human
behind | hinter | detrás de | building
next to | neben | al lado de | plant
"""

_CONJUNCTIONS = """
because | weil | porque
although | obwohl | aunque
when | als | cuando
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _noun(english: str, german: str, spanish: str, tags: str) -> Noun:
    singular, *irregular = english.split()
    article, german_singular, german_plural = german.split()
    spanish_article, spanish_singular = spanish.split()
    tag_set = frozenset(tags.split())
    oblique = german_plural if "weak" in tag_set else german_singular
    dative_plural = german_plural + ("" if german_plural[-1] in "ns" else "n")
    gender = ("el", "la").index(spanish_article)
    return Noun(
        name=singular,
        english=(singular, irregular[0] if irregular else english_plural(singular)),
        english_pronoun=("he", "she")[gender] if "human" in tag_set and "it" not in tag_set else "it",
        german=((german_singular, oblique, oblique), (german_plural, german_plural, dative_plural)),
        german_gender=("der", "die", "das").index(article),
        spanish=(spanish_singular, spanish_plural(spanish_singular)),
        spanish_gender=gender,
        tags=tag_set | {singular},
    )


def _adjective(name: str, german: str, spanish: str, nouns: str, colour: str = "") -> Adjective:
    german_forms = german.split()
    spanish_word, *options = spanish.split()
    return Adjective(
        name=name,
        german=german_forms[0],
        german_stem=german_forms[-1],
        spanish=spanish_adjective(spanish_word),
        estar="estar" in options,
        before="before" in options,
        reason=not colour,
        nouns=_select(nouns),
    )


def _verb(english: str, german: str, spanish: str, subjects: str, objects: str, tags: str = "") -> Verb:
    forms = english_verb(english)
    doers = _select(subjects)
    return Verb(
        name=forms.base,
        english=forms,
        german=german_verb(german),
        spanish=spanish_verb(spanish),
        subjects=doers,
        objects=_select(objects),
        tags=frozenset(tags.split()),
        personal=any("human" in noun.tags for noun in doers),
    )


def _adverb(name: str, german: str, spanish: str, kind: str, tenses: str, early: str = "") -> Adverb:
    return Adverb(name, german, spanish, kind, frozenset(tenses.split()), bool(early))


def _select(tags: str) -> tuple[Noun, ...]:
    wanted = frozenset(tags.split())
    return tuple(noun for noun in NOUNS.values() if noun.tags & wanted)


NOUNS = {noun.name: noun for noun in (_noun(*row) for row in _rows(_NOUNS))}
ADJECTIVES = {adjective.name: adjective for adjective in (_adjective(*row) for row in _rows(_ADJECTIVES))}
VERBS = {verb.name: verb for verb in (_verb(*row) for row in _rows(_VERBS))}
ADVERBS = {adverb.name: adverb for adverb in (_adverb(*row) for row in _rows(_ADVERBS))}
PREPOSITIONS = {row[0]: Preposition(*row) for row in _rows(_PREPOSITIONS)}
CONJUNCTIONS = {row[0]: Conjunction(*row) for row in _rows(_CONJUNCTIONS)}
