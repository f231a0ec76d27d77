"""Patterns of a caller protect spans like the built-in kinds do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.text.patterns import MARKED, compile_pattern, mark_spans, without_marks
from qkv.text.protect import BY_DEFAULT, protected_spans


def found(text: str, *patterns: str) -> list[tuple[str, str]]:
    protected = (*map(re.compile, patterns), *BY_DEFAULT)
    return [(span.kind, span.text) for span in protected_spans(text, protected)]


def test_a_pattern_wins_except_inside_a_longer_span() -> None:
    assert found("AB-12 in {x}", r"[A-Z]+-\d+", r"\d+") == [("pattern", "AB-12"), ("placeholders", "{x}")]
    assert found("{AB-12}", r"[A-Z]+-\d+") == [("placeholders", "{AB-12}")]
    assert found("say %s now", "say %s") == [("pattern", "say %s")]
    assert found("<b>x</b>", "<b>x</b>") == [("pattern", "<b>x</b>")]


@given(
    st.text("ab<>{}%s ", max_size=30),
    st.lists(st.sampled_from(["a+", "b[ <]", "%s", "{.*?}", r"[<>]+"]), max_size=3),
)
def test_spans_are_in_order_and_do_not_overlap(text: str, patterns: list[str]) -> None:
    last = 0
    for span in protected_spans(text, (*map(re.compile, patterns), *BY_DEFAULT)):
        assert last <= span.start < span.end
        assert text[span.start : span.end] == span.text
        last = span.end


@pytest.mark.parametrize("pattern", ["", "a*", r"\b", "(?=a)", "x|", "(", "a" * 1_001])
def test_a_pattern_that_cannot_work_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"empty|characters|missing"):
        compile_pattern(pattern)


def test_marks_keep_exactly_the_given_spans() -> None:
    marked = mark_spans("press a for a file", [(6, 7)])
    [span] = protected_spans(marked, (MARKED, *BY_DEFAULT))
    assert without_marks(span.text) == "a"
    assert marked.index(span.text) == 6
    assert without_marks(marked) == "press a for a file"
