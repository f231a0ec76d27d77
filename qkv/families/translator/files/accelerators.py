"""Accelerators such as &File and _Open: taken out, and put on a letter of the translation that is free."""

import re
import unicodedata
from collections.abc import Set

MARKS = ("&", "_", "~")
BEHIND = re.compile(
    r"(?:\s*(?:\.\.\.|…|[:：]))?(?:\t.*)?\Z", re.DOTALL
)  # "Open…:" and a shortcut after a tab
ENTITY = re.compile(r"&#?\w+;")


def without_accelerator(text: str, mark: str) -> tuple[str, str] | None:
    """The text without its mark, and the letter behind it. None if there is not exactly one; a doubled mark is a character."""
    if mark == "&" and ENTITY.search(text):
        return None
    found = [match.start() for match in re.finditer(rf"(?<!{mark}){mark}(?=[^\W_])", text)]
    if len(found) != 1 or re.sub(rf"{mark}{mark}", "", text).count(mark) != 1:
        return None
    place = found[0]
    return text[:place] + text[place + 1 :], text[place + 1].lower()


def with_accelerator(text: str, mark: str, letter: str, taken: Set[str]) -> tuple[str, str]:
    """The text with a mark, and the letter that it has now.

    Preferred are the letter of the source, then first letters of words, then other letters. Without alphabetic letters, as in
    Chinese, the letter of the source is added in parentheses.
    """
    end = BEHIND.search(text)
    place = end.start() if end else len(text)
    places = [match.start() for match in re.finditer(r"[^\W_]", text[:place]) if is_alphabetic(match[0])]
    if not places:
        return f"{text[:place]}({mark}{letter.upper()}){text[place:]}", letter
    first = [place for place in places if place == 0 or not text[place - 1].isalnum()]
    same = [place for place in [*first, *places] if text[place].lower() == letter]
    ranked = [*same, *first, *places]
    place = next((each for each in ranked if text[each].lower() not in taken), ranked[0])
    return f"{text[:place]}{mark}{text[place:]}", text[place].lower()


def is_alphabetic(character: str) -> bool:
    """Whether keyboards have it as a letter: Latin, Greek, Cyrillic and others, but not ideographs and kana."""
    return (character.isalpha() and unicodedata.category(character) in ("Lu", "Ll")) or character.isdecimal()
