"""Spans that are not for translation are found, and nothing else is."""

import random
import time

import pytest

from qkv.text.protect import (
    BY_DEFAULT,
    DIALECTS,
    KINDS,
    all_kept,
    occurrences,
    protected_spans,
    remove_spans,
    replace_spans,
    spans_in_order,
    split_lines,
    split_long_text,
)


def found(text: str, kinds: tuple[str, ...] = BY_DEFAULT) -> list[str]:
    return [span.text for span in protected_spans(text, kinds)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Hello {name}, you have %d new messages.", ["{name}", "%d"]),
        ("%(count)s of %1$s, %5.2f%% and %@", ["%(count)s", "%1$s", "%5.2f", "%%", "%@"]),
        ("{{ user.name }} and ${HOME} and {0} and {}", ["{{ user.name }}", "${HOME}", "{0}", "{}"]),
        ("a <b>bold</b> word<br/>", ["<b>", "</b>", "<br/>"]),
        (
            '<a href="https://x.org/?q=1">link</a> &amp; &#39;',
            ['<a href="https://x.org/?q=1">', "</a>", "&amp;", "&#39;"],
        ),
        (
            "See https://example.org/a_b?c=d#e. Or (www.example.org).",
            ["https://example.org/a_b?c=d#e", "www.example.org"],
        ),
        ("Write to first.last+tag@mail.example.org!", ["first.last+tag@mail.example.org"]),
        ("100% sure, 5 % of all, a < b and c > d, {not a placeholder}", []),
        ("the cat danced", []),
    ],
)
def test_placeholders_markup_and_addresses_are_found(text: str, spans: list[str]) -> None:
    assert found(text) == spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("https://example.com/{user}", ["https://example.com/{user}"]),
        ("(see https://x.y/{a}/{b}).", ["https://x.y/{a}/{b}"]),
        ("open https://x.y/{{ name }}/a, please", ["https://x.y/{{ name }}/a"]),
        ("https://x.y/[[id]]!", ["https://x.y/[[id]]"]),
        ("https://x.y/f({{ a }})", ["https://x.y/f({{ a }})"]),
        ("https://x.y?q=1&amp;", ["https://x.y?q=1&amp;"]),
        ("(https://en.wikipedia.org/wiki/A_(b))", ["https://en.wikipedia.org/wiki/A_(b)"]),
        ("http://[::1]. www.x.y/a((b)c)d);", ["http://[::1]", "www.x.y/a((b)c)d"]),
        ("&lt;https://x.y&gt;", ["&lt;", "https://x.y", "&gt;"]),
        ("https://x.y/{user https://x.y/( www.", ["https://x.y/{user", "https://x.y/("]),
        ("%*d of %-*.*f, %5.2Lf and %jd", ["%*d", "%-*.*f", "%5.2Lf", "%jd"]),
    ],
)
def test_no_bracket_of_an_address_and_no_width_is_cut_off(text: str, spans: list[str]) -> None:
    assert found(text) == spans
    assert all_kept(text, [span for span in spans if "//" in span])


def test_numbers_are_protected_on_request() -> None:
    text = "On 12.5.2024 at 10:30 we paid 1,250.00 for 3 of B52."
    assert found(text) == []
    assert found(text, ("numbers",)) == ["12.5.2024", "10:30", "1,250.00", "3"]
    assert found(text, ()) == []


def test_spans_are_taken_out_and_replaced() -> None:
    text = "a <b>{x}</b> b"
    spans = protected_spans(text, ("tags",))
    assert remove_spans(text, spans) == "a {x} b"
    assert replace_spans(text, spans, ["[", "]"]) == "a [{x}] b"


@pytest.mark.parametrize(
    ("text", "wanted", "whole"),
    [
        ("%s and %s", ["%s", "%s"], True),
        ("%s and %s", ["%s"], False),
        ("Tom and Tomorrow", ["Tom"], True),
        ("nothing", ["%s"], False),
        ("", [], True),
    ],
)
def test_a_span_survives_if_it_occurs_as_often_as_before(text: str, wanted: list[str], whole: bool) -> None:
    assert all_kept(text, wanted) == whole


def test_no_part_of_a_longer_word_is_an_occurrence() -> None:
    assert occurrences("Haus, Hausboot, Haus", "Haus") == [0, 16]
    assert occurrences("x%s x{y}x", "%s") == [1]
    assert occurrences("x%s x{y}x", "{y}") == [5]


def test_every_kind_has_a_pattern() -> None:
    assert set(BY_DEFAULT) < set(KINDS)


def test_a_text_is_cut_at_line_breaks_but_not_within_a_span() -> None:
    text = "one <b\nclass='x'>two</b>\n\nthree <!-- a\nb --> four\n"
    lines = split_lines(text, BY_DEFAULT)
    assert lines == ["one <b\nclass='x'>two</b>\n", "\n", "three <!-- a\nb --> four\n"]
    assert split_lines("one", BY_DEFAULT) == ["one"]
    assert split_lines("", BY_DEFAULT) == []


def test_block_elements_end_a_segment_and_inline_elements_do_not() -> None:
    text = "<ul><li>the <b>cat</b> danced</li> <li>I like cats</li></ul>yes<br/>no<p class='a > b'>maybe"
    assert split_lines(text, BY_DEFAULT) == [
        "<ul><li>",
        "the <b>cat</b> danced",
        "</li> <li>",
        "I like cats",
        "</li></ul>",
        "yes",
        "<br/>",
        "no",
        "<p class='a > b'>",
        "maybe",
    ]
    assert split_lines(text, ("placeholders",)) == [text]


def test_non_text_is_its_own_segment() -> None:
    text = (
        "<?xml version='1.0'?><!DOCTYPE a>one<script>two; // three</script>four <!-- five --><?php 6 ?> seven"
    )
    assert split_lines(text, BY_DEFAULT) == [
        "<?xml version='1.0'?><!DOCTYPE a>",
        "one",
        "<script>two; // three</script>",
        "four <!-- five --><?php 6 ?> seven",
    ]


def test_a_pair_of_tags_around_several_segments_stays_outside_of_them() -> None:
    assert split_lines("a <b>c<br>d</b> <i>e</i>\n", BY_DEFAULT) == [
        *("a ", "<b>", "c", "<br>", "d", "</b>", " <i>e</i>\n"),
    ]
    pieces = split_long_text("<b>One two. Three <i>four</i>.</b> Five", BY_DEFAULT, len, 12)
    assert pieces == ["<b>", "One two. ", "Three <i>four</i>.", "</b>", " ", "Five"]


def test_tags_do_not_count_towards_the_length_of_a_segment() -> None:
    text = f"the {'<b>' * 50}cat{'</b>' * 50} danced"
    assert split_long_text(text, BY_DEFAULT, len, 14) == [text]


def test_no_tag_or_placeholder_is_cut_however_short_the_segments_are() -> None:
    chance = random.Random(3)
    parts = [
        "<b>",
        "</b>",
        "<a title='x > y'>",
        "</a>",
        "{a b}",
        "{{ name }}",
        "%5.2f;",
        "&amp;",
        "cat",
        ". ",
        " ",
        "ä",
    ]
    for _ in range(500):
        text = "".join(chance.choices(parts, k=chance.randrange(1, 40)))
        pieces = split_long_text(text, BY_DEFAULT, len, chance.randrange(1, 20))
        assert "".join(pieces) == text
        assert [each for piece in pieces for each in found(piece)] == found(text), pieces


def test_the_quick_check_for_plain_text_hides_no_span() -> None:
    """Random text of the characters that spans are made of, searched with the check and without."""
    words = "a . <b> </b> &amp; &#39; <!--x--> { } {n} % %d %(n)s $ [[ ]] @ a@b.c :// http://x.y www. ftp://z 7 \u0663 1.5"
    parts = [*words.split(), " ", "\n"]
    draw = random.Random(5)
    for _ in range(3_000):
        text = "".join(draw.choices(parts, k=draw.randrange(6)))
        kinds = draw.sample(KINDS, draw.randrange(len(KINDS) + 1))
        assert protected_spans(text, kinds) == list(spans_in_order(text, kinds)), (text, kinds)


@pytest.mark.parametrize(
    ("dialect", "text", "spans"),
    [
        ("c-format", "100% sure: %5.2f%% of %1$s, %*d, %lu and % d", ["%5.2f", "%%", "%1$s", "%*d", "%lu", "% d"]),
        ("python-format", "%(name)s has %r, %-5d and 5 % of {x}", ["%(name)s", "%r", "%-5d"]),
        ("python-brace-format", "{} {0!r:>{width}} {{x}} {a b}", ["{}", "{0!r:>{width}}", "{{x}}", "{a b}"]),
        ("qt-format", "%1 of %L2, %n file(s), %Ln and %s", ["%1", "%L2", "%n", "%Ln"]),
        ("ruby-format", "%{name}, #{x} and %<n>.2f", ["%{name}", "#{x}", "%<n>.2f"]),
        ("i18next-format", "{{ n }} <0>a</0> $t(a.b) {x} %{y} 5 %", ["{{ n }}", "<0>", "</0>", "$t(a.b)", "{x}", "%{y}"]),
        ("icu-format", "{ name } and {n, number}", ["{ name }", "{n, number}"]),
    ],
)  # fmt: skip
def test_every_dialect_has_its_own_placeholders(dialect: str, text: str, spans: list[str]) -> None:
    assert found(text, (dialect,)) == spans


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("part", ["{", "{a{}", "%(", "%5.", "$t(", "<1", "%<", "%{", "}"])
def test_dialects_take_linear_time(dialect: str, part: str) -> None:
    began = time.perf_counter()
    found(part * 100_000, (dialect,))
    assert time.perf_counter() - began < 5
