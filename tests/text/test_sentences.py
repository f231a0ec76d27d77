"""Sentences are split where one ends and another begins, not behind abbreviations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.text.sentences import count_boundaries, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I see a cat. It sleeps.", ["I see a cat. ", "It sleeps."]),
        ("the cat danced. the baby is crying!  why?", ["the cat danced. ", "the baby is crying!  ", "why?"]),
        ('He said: "Stop!" Then he left.', ['He said: "Stop!" ', "Then he left."]),
        ("我喜欢猫。你呢？", ["我喜欢猫。", "你呢？"]),
        ("वह गया। वह आया।", ["वह गया। ", "वह आया।"]),
        ("Dr. Lee and Mr. J. Smith met on the 3. October.", None),
        ("Well... yes, vs. no, e.g. this.", None),
        ("one line without an end", None),
        ("", None),
    ],
)
def test_a_text_is_split_after_its_sentences(text: str, sentences: list[str] | None) -> None:
    assert split_sentences(text) == (sentences or [text])


def test_ranges_that_must_stay_whole_are_not_split() -> None:
    text = "Click {a. b}. Then wait."
    assert split_sentences(text, [(6, 12)]) == ["Click {a. b}. ", "Then wait."]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab .!?…。！।3\"')\n\t "), max_size=200))
def test_sentences_add_up_to_the_text_and_never_outnumber_its_boundaries(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentences) == text
    assert len(sentences) <= count_boundaries(text) + 1
