"""Inline codes: whatever a translation makes of them, each comes back once and pairs stay nested."""

from hypothesis import given
from hypothesis import strategies as st

from qkv.documents.codes import Part, coded

PARTS = [
    Part("open", "<p>", 0, 3),
    Part("text", "  ", 3, 5),
    Part("text", "Press {{1}} & <", 5, 30),
    Part("open", "<b>", 30, 33),
    Part("kept", "<code>x</code>", 33, 47),
    Part("text", " or", 47, 50),
    Part("single", "<br/>", 50, 55),
    Part("open", "<i>", 55, 58),
    Part("text", "no", 58, 60),
    Part("close", "</i>", 60, 64),
    Part("close", "</b>", 64, 68),
    Part("open", '<a id="n">', 68, 78),
    Part("close", "</a>", 78, 82),
    Part("text", "w", 82, 83),
    Part("close", "</p>", 83, 87),
    Part("single", "<hr/>", 87, 92),
]
NAMES = [
    "<g1>",
    "</g1>",
    "<g2>",
    "</g2>",
    "<x1/>",
    "<x2/>",
    "{{2}}",
    "<g3>",
    "{{1}}",
    "&lt;",
    "&amp;lt;",
    "&",
    "<",
    "word",
    " ",
]


def file_of(text: str) -> str:
    found = coded(PARTS)
    assert found
    assert found.codes
    return found.codes.restore(text, lambda words: words.replace("&", "&amp;").replace("<", "&lt;"))


def test_a_paragraph_becomes_a_text_with_codes_and_back() -> None:
    found = coded(PARTS)
    assert found
    assert found.codes
    assert found.text == "Press {{1}} &amp; &lt;<g1>{{2}} or<x1/><g2>no</g2></g1><x2/>w"
    assert (found.start, found.end) == (5, 83)  # what surrounds all of it stays outside
    assert file_of(found.text) == (
        'Press {{1}} &amp; &lt;<b><code>x</code> or<br/><i>no</i></b><a id="n"></a>w'
    )
    assert found.codes.are_kept_by("<x2/>a<g2>b</g2><g1>{{2}}</g1><x1/>")


@given(st.lists(st.sampled_from(NAMES), max_size=14).map("".join))
def test_any_translation_has_each_code_once_and_nested(text: str) -> None:
    found = coded(PARTS)
    assert found
    assert found.codes
    fixed = found.codes.repair(text)
    assert found.codes.are_kept_by(fixed)
    assert found.codes.repair(fixed) == fixed
    assert found.codes.essence(text) == found.codes.essence(fixed)
    for original in found.codes.originals.values():
        assert file_of(text).count(original) == 1


def test_plain_text_is_not_escaped_and_lost_formatting_is_not_put_back() -> None:
    plain = coded([Part("text", "a < b & c", 0, 9)])
    assert plain
    assert plain.text == "a < b & c"
    assert plain.codes is None
    assert coded([Part("open", "<b>", 0, 3), Part("text", " ", 3, 4), Part("close", "</b>", 4, 8)]) is None
    bold = coded(PARTS, formatting=lambda part: part.content == "<i>")
    assert bold
    assert bold.codes
    assert bold.codes.formatting == {"<g2>"}
    assert bold.codes.repair("<g1>a{{2}}</g1><x1/><g2>b") == "<g1>a{{2}}</g1><x1/>b<x2/>"
    assert not bold.codes.are_kept_by("<g1>a{{2}}</g1><x1/>b<x2/>")
