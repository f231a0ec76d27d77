"""Inflects dictionary entries by regular rules. Entries list their exceptions."""

import re
from dataclasses import dataclass

VOWELS = "aeiouáéíóú"


@dataclass(frozen=True, eq=False, slots=True)
class EnglishVerb:
    base: str
    third: str
    past: str
    participle: str
    gerund: str
    particle: str  # "for" of "look for"


@dataclass(frozen=True, eq=False, slots=True)
class GermanVerb:
    infinitive: str
    participle: str
    present: tuple[str, ...]  # ich, du, er/sie/es, plural
    past: tuple[str, ...]
    particle: str  # "an" of "ruft ... an"
    auxiliary: str  # of the perfect: haben or sein
    dative: bool  # its object is in the dative
    preposition: str  # "auf" of "warten auf"


@dataclass(frozen=True, eq=False, slots=True)
class SpanishVerb:
    infinitive: str
    participle: str
    gerund: str
    present: tuple[str, ...]  # yo, tú, él/ella, nosotros, ellos/ellas
    preterite: tuple[str, ...]
    imperfect: tuple[str, ...]


def english_plural(noun: str) -> str:
    if re.search(r"(s|x|ch|sh)$", noun):
        return noun + "es"
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + "s"


def english_verb(entry: str) -> EnglishVerb:
    """'call', 'look:for', or with its past and participle: 'sing sang sung'; '!' doubles the consonant."""
    parts = entry.replace("!", "").split()
    base, _, particle = parts[0].partition(":")
    third = "has" if base == "have" else english_plural(base)
    root = base + base[-1] if "!" in entry else base
    if base.endswith("e") and not base.endswith("ee"):
        past, gerund = base + "d", base[:-1] + "ing"
    elif re.search(r"[^aeiou]y$", base):
        past, gerund = base[:-1] + "ied", base + "ing"
    else:
        past, gerund = root + "ed", root + "ing"
    if len(parts) == 3:
        past, participle = parts[1], parts[2]
    else:
        participle = past
    return EnglishVerb(base, third, past, participle, gerund, particle)


def german_verb(entry: str) -> GermanVerb:
    """'tanzen', '*besuchen' (no ge-), 'an+rufen ruft rief gerufen'; after ';' sein, dat or a preposition."""
    forms, _, options = entry.partition(";")
    parts = forms.split()
    particle, _, infinitive = parts[0].lstrip("*").rpartition("+")
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    if len(parts) == 4:
        third, past, participle = parts[1:]
    else:
        link = "e" if re.search(r"([td]|ffn|chn)$", stem) else ""
        third, past = stem + link + "t", stem + link + "te"
        participle = ("" if "*" in entry else "ge") + stem + link + "t"
    chosen = options.split()
    return GermanVerb(
        infinitive=particle + infinitive,
        participle=particle + participle,
        present=("mag" if infinitive == "mögen" else stem + "e", _second_person(third), third, infinitive),
        past=(past, _past_second(past), past, past + ("n" if past.endswith("e") else "en")),
        particle=particle,
        auxiliary="sein" if "sein" in chosen else "haben",
        dative="dat" in chosen,
        preposition=next((option for option in chosen if option not in ("sein", "dat")), ""),
    )


def _second_person(third: str) -> str:
    if third in ("mag", "hat"):
        return {"mag": "magst", "hat": "hast"}[third]
    if third.endswith("et"):
        return third[:-1] + "st"
    stem = third[:-1]
    return stem + ("t" if re.search(r"[sßz]$", stem) else "st")


def _past_second(past: str) -> str:
    return past + ("est" if re.search(r"[tdsßz]$", past) else "st")


def spanish_plural(word: str) -> str:
    if word[-1] in VOWELS:
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    unstressed = re.sub("([óíúá])(n|s)$", lambda m: "oiua"["óíúá".index(m[1])] + m[2], word)
    return unstressed + "es"


def spanish_adjective(word: str) -> tuple[str, str, str, str]:
    """Masculine and feminine singular, masculine and feminine plural."""
    if word.endswith("o"):
        return word, word[:-1] + "a", word + "s", word[:-1] + "as"
    plural = "jóvenes" if word == "joven" else spanish_plural(word)
    return word, word, plural, plural


_PRESENT = {"ar": "o as a amos an", "er": "o es e emos en", "ir": "o es e imos en"}
_PRETERITE = {"ar": "é aste ó amos aron", "er": "í iste ió imos ieron", "ir": "í iste ió imos ieron"}
_IMPERFECT = {"ar": "aba abas aba ábamos aban", "er": "ía ías ía íamos ían", "ir": "ía ías ía íamos ían"}
_CHANGED = {"ie": "e", "ue": "ou", "i": "e"}  # the stem vowels that become ie, ue, i under stress
_SPELLING = {"c": "qu", "g": "gu", "z": "c"}  # before é: busqué, jugué, crucé


def spanish_verb(entry: str) -> SpanishVerb:
    """'bailar', 'dormir ue', or with exceptions: 'conocer yo=conozco', 'ver past=vi,viste,vio,vimos,vieron'."""
    infinitive, *options = entry.split()
    change = next((option for option in options if "=" not in option), "")
    exceptions = dict(option.split("=") for option in options if "=" in option)
    stem, ending = infinitive[:-2], infinitive[-2:].replace("í", "i")
    stressed = _stress(stem, change)
    present = [
        (stem if slot == 3 else stressed) + suffix for slot, suffix in enumerate(_PRESENT[ending].split())
    ]
    present[0] = exceptions.get("yo", present[0])
    preterite = [stem + suffix for suffix in _PRETERITE[ending].split()]
    gerund = stem + ("ando" if ending == "ar" else "iendo")
    if ending == "ar" and stem[-1] in _SPELLING:
        preterite[0] = stem[:-1] + _SPELLING[stem[-1]] + "é"
    if ending == "ir" and change:  # durmió, siguieron, durmiendo
        raised = _stress(stem, {"ue": "u", "ie": "i", "i": "i"}[change])
        preterite[2], preterite[4], gerund = raised + "ió", raised + "ieron", raised + "iendo"
    return SpanishVerb(
        infinitive=infinitive,
        participle=exceptions.get("participle", stem + ("ado" if ending == "ar" else "ido")),
        gerund=exceptions.get("gerund", gerund),
        present=tuple(exceptions["present"].split(",") if "present" in exceptions else present),
        preterite=tuple(exceptions["past"].split(",") if "past" in exceptions else preterite),
        imperfect=tuple(stem + suffix for suffix in _IMPERFECT[ending].split()),
    )


def _stress(stem: str, change: str) -> str:
    if not change:
        return stem
    vowels = "ou" if change == "u" else _CHANGED[change]
    at = max(stem.rfind(vowel) for vowel in vowels)
    if stem.endswith(("gu", "qu")):  # the silent u of seguir is not a stem vowel
        at = max(stem[:-2].rfind(vowel) for vowel in vowels)
    return stem[:at] + change + stem[at + 1 :]
