"""An entity is a way to write a character: read as the character, written as it was."""

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.text.entities import character_of, escape


@pytest.mark.parametrize(
    ("entity", "character"),
    [("&amp;", "&"), ("&lt;", "<"), ("&#39;", "'"), ("&#x27;", "'"), ("&eacute;", "é"), ("&frac12;", "½"), ("&#128;", "€")],
)  # fmt: skip
def test_an_entity_stands_for_its_character(entity: str, character: str) -> None:
    assert character_of(entity) == character


@pytest.mark.parametrize("entity", ["&nbsp;", "&#10;", "&shy;", "&zwj;", "&nosuch;", "&#0;", "&#xD800;"])
def test_invisible_and_unknown_entities_have_no_character(entity: str) -> None:
    assert character_of(entity) is None


@settings(max_examples=100)
@given(st.text(), st.sampled_from([{"&": "&amp;"}, {"'": "&#39;", "<": "&#60;"}, {'"': "&quot;"}]))
def test_escaped_text_is_equivalent_and_has_no_markup(text: str, spellings: dict[str, str]) -> None:
    written = escape(text, spellings)
    if "\r" not in text and "\x00" not in text:
        assert html.unescape(written) == text
    assert not {"<", ">", *spellings} & set(written) - {"&"}


def test_a_text_that_had_no_entity_is_left_alone() -> None:
    assert escape("a < b & c", {}) == "a < b & c"
