"""Character entities of markup: &amp; is a way to write a character, which is read as that character."""

import html
from collections.abc import Mapping

ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # what would be markup where a text is


def character_of(entity: str) -> str | None:
    """What an entity stands for; None where that is nothing that can be seen, as of &nbsp;, or nobody knows it."""
    character = html.unescape(entity)
    seen = len(character) == 1 and character.isprintable() and not character.isspace()
    return character if seen and character != "\ufffd" else None


def escaped(text: str, spellings: Mapping[str, str]) -> str:
    """A text as markup that has spelled these characters so; without any spelling it was no markup."""
    if not spellings:
        return text
    table = {**ALWAYS, **spellings}
    return "".join(table.get(character, character) for character in text)
