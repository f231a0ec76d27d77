"""Character entities of markup, such as &amp;."""

import html
from collections.abc import Mapping

ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}  # otherwise read as markup


def character_of(entity: str) -> str | None:
    """The character that an entity stands for, or None if it is invisible (such as &nbsp;) or unknown."""
    character = html.unescape(entity)
    visible = len(character) == 1 and character.isprintable() and not character.isspace()
    return character if visible and character != "\ufffd" else None


def escape(text: str, spellings: Mapping[str, str]) -> str:
    """Write characters as entities. If there are no spellings, the source had no entities, and the text is unchanged."""
    if not spellings:
        return text
    table = {**ALWAYS, **spellings}
    return "".join(table.get(character, character) for character in text)
