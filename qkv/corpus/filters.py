"""Filters of single pairs. Each is a pure function of the pair and the settings: True drops the pair."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from qkv.corpus.settings import CleanSettings
from qkv.corpus.words import words
from qkv.data.language_codes import two_letters
from qkv.data.pair_facts import text_length

SHORT = 20  # characters: up to this length a translation may be many times as long
FEW_WORDS = 5  # up to this many words may be copied: names, titles, commands
SCRIPTS = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʯᴀ-ᵿḀ-ỿ",
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "Hebrew": "\u0590-\u05ff",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Georgian": "\u10a0-\u10ff",
    "Armenian": "\u0530-\u058f",
    "Korean": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u4e00-\u9fff",
    "Chinese": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "Japanese": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
}
LANGUAGES = {
    "Latin": "af az br bs ca cs cy da de en eo es et eu fi fo fr fy ga gl ha hr ht hu id ig is it jv la lb lt lv mg ms "
    "mt nb nl nn no oc pl pt ro sk sl so sq sv sw tl tr uz vi xh yo zu",
    "Cyrillic": "be bg kk ky mk mn ru tg uk",
    "Greek": "el",
    "Arabic": "ar fa ps ug ur",
    "Hebrew": "he",
    "Devanagari": "hi mr ne",
    "Bengali": "bn",
    "Tamil": "ta",
    "Thai": "th",
    "Georgian": "ka",
    "Armenian": "hy",
    "Korean": "ko",
    "Chinese": "zh",
    "Japanese": "ja",
}
SCRIPT_OF = {code: script for script, codes in LANGUAGES.items() for code in codes.split()}
IN_SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in SCRIPTS.items()}

LETTER = re.compile(r"[^\W\d_]")
# UTF-8 read as Latin-1 or Windows-1252, once or twice, and characters that do not occur in text.
MOJIBAKE = re.compile(
    r"Ã[\u0080-\u00bf\u0152-\u0178\u2013-\u203a\u20ac\u2122]|â€|Â[\u00a0-\u00bf]|ï¿½|[\ufffd\u0080-\u009f]"
)
# Names of tags without attributes, which may contain text; entities; Markdown and wiki markup.
MARKUP = re.compile(
    r"</?[A-Za-z][\w:-]*+(?=[^<>]*+>)|&(?:[a-z]{2,8}|#x?[0-9a-f]{2,6});|\]\(|\[!|\{\{|\}\}|```"
)
ADDRESS = re.compile(
    r"(?:https?|ftp|file)://\S+|www\.\S+|[\w.+-]{1,64}@[\w.-]{1,255}|(?:[A-Za-z]:)?(?:[\\/][\w.%~-]+){2,}[\\/]?"
)
NUMBER = re.compile(r"\d+(?:[.,:'’\u00a0\u202f ]\d{3}(?!\d)|[.,:]\d+)*")
SEPARATOR = re.compile(r"\D")


@dataclass(frozen=True)
class Pair:
    source: str
    target: str

    @cached_property
    def words(self) -> tuple[list[str], list[str]]:
        return words(self.source), words(self.target)

    @cached_property
    def sides(self) -> tuple[str, str]:
        return self.source, self.target


def script_of(language: str | None) -> str | None:
    """The script of a language, given as en, en-US or eng; None if it is unknown."""
    code = two_letters(language)
    return None if code is None else SCRIPT_OF.get(code)


def is_empty(pair: Pair, settings: CleanSettings) -> bool:
    return not pair.source or not pair.target


def is_too_short(pair: Pair, settings: CleanSettings) -> bool:
    return min(map(len, pair.sides)) < settings.min_length


def is_too_long(pair: Pair, settings: CleanSettings) -> bool:
    if max(map(text_length, pair.sides)) > settings.max_length:
        return True
    return settings.max_words > 0 and max(map(len, pair.words)) > settings.max_words


def is_unequal(pair: Pair, settings: CleanSettings) -> bool:
    shorter, longer = sorted(map(text_length, pair.sides))
    return longer > SHORT and longer > settings.max_ratio * shorter


def is_broken(pair: Pair, settings: CleanSettings) -> bool:
    return any(not side.isascii() and MOJIBAKE.search(side) is not None for side in pair.sides)


def is_address(pair: Pair, settings: CleanSettings) -> bool:
    """Whether a side is only an address or a path, with few other words."""
    return any(
        found is not None and len(LETTER.findall(ADDRESS.sub("", side))) < 3
        for side in pair.sides
        if (found := ADDRESS.search(side))
    )


def has_few_letters(pair: Pair, settings: CleanSettings) -> bool:
    return any(letter_share(side) < settings.min_letters for side in pair.sides)


def letter_share(text: str) -> float:
    visible = len(text) - sum(map(text.count, " \t\u00a0\u202f"))
    return len(LETTER.findall(text)) / max(1, visible)


def has_markup(pair: Pair, settings: CleanSettings) -> bool:
    """Whether there are tags, entities or links or, with "same", whether the two sides differ in them."""
    source, target = (Counter(MARKUP.findall(side)) for side in pair.sides)
    if settings.markup == "drop":
        return bool(source or target)
    return settings.markup == "same" and source != target


def is_copied(pair: Pair, settings: CleanSettings) -> bool:
    """Whether too many words of the target also occur in the source. Short texts are copies only if both sides are equal."""
    source, target = (without_numbers(side) for side in pair.words)
    if len(target) <= FEW_WORDS:
        return len(target) > 1 and source == target
    known = set(source)
    return sum(word in known for word in target) > settings.max_copied * len(target)


def without_numbers(side: list[str]) -> list[str]:
    return [word for word in side if not word.isdigit()]


def has_other_numbers(pair: Pair, settings: CleanSettings) -> bool:
    """Numbers of one digit do not count: they are often written as words."""
    source, target = (Counter(numbers(side)) for side in pair.sides)
    return max((source - target).total(), (target - source).total()) > settings.max_numbers


def numbers(text: str) -> list[str]:
    """Numbers without separators, which differ between languages."""
    found = (SEPARATOR.sub("", number) for number in NUMBER.findall(text))
    return [number for number in found if len(number) > 1]


Filter = Callable[[Pair, CleanSettings], bool]

FILTERS: dict[str, Filter] = {
    "empty": is_empty,
    "too short": is_too_short,
    "too long": is_too_long,
    "unequal lengths": is_unequal,
    "broken characters": is_broken,
    "address only": is_address,
    "few letters": has_few_letters,
    "markup": has_markup,
    "copied": is_copied,
    "numbers differ": has_other_numbers,
}


def first_filter(pair: Pair, settings: CleanSettings) -> str | None:
    """The reason of the first filter that drops the pair, in the order of the table."""
    return next((reason for reason, drops in FILTERS.items() if drops(pair, settings)), None)


def in_script(text: str, script: str, share: float) -> bool:
    """Whether at least this share of the letters is in the script."""
    if script == "Latin" and text.isascii():
        return True
    letters = LETTER.findall(text)
    return len(IN_SCRIPT[script].findall("".join(letters))) >= share * len(letters)
