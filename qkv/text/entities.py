"""Character entities of markup, such as &amp;, which are read as characters."""

import html
from collections.abc import Mapping

ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # these characters would otherwise be markup


def character_of(entity: str) -> str | None:
    """The character of an entity; None if it is invisible, such as &nbsp;, or unknown."""
    character = html.unescape(entity)
    seen = len(character) == 1 and character.isprintable() and not character.isspace()
    return character if seen and character != "\ufffd" else None


def escaped(text: str, spellings: Mapping[str, str]) -> str:
    """Write these characters as entities. Without any spelling, the text was not markup and stays unchanged."""
    if not spellings:
        return text
    table = {**ALWAYS, **spellings}
    return "".join(table.get(character, character) for character in text)
