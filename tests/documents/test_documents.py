"""Documents: only the texts change, and every other byte stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.documents import read_catalog, read_document, supported_formats
from qkv.documents.markup import HTML, XML, MarkupRules, cut_markup
from qkv.errors import DataError

PAGE = (
    b"<!doctype html>\r\n<html><head><title>A cat</title><style>p { color: red }</style></head>\r\n<body><p class=x>One\r\n"
    b"<b>two</b> &amp; <code>x = 1</code>.<p translate=no>keep me</p><ul><li>cats<li>dogs</ul><!-- a comment --></body></html>\n"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", PAGE),
        ("a.txt", b"one\r\n\r\ntwo\n  three  \n"),
        ("a.txt", "\ufeffeins größer\nzwei".encode()),
        ("a.txt", "one\ntwo".encode("utf-16")),
        ("a.html", "<meta charset=iso-8859-1><p>größer</p>".encode("latin-1")),
        ("a.txt", b""),
    ],
)
def test_a_document_with_its_own_texts_is_the_same_file(name: str, content: bytes) -> None:
    document = read_document(name, content)
    texts = [segment.text for segment in document.segments]
    if name.endswith("html"):  # a line break inside a sentence becomes a space
        assert document.write(texts).split() == content.split()
    else:
        assert document.write(texts) == content


def test_translations_are_written_in_place() -> None:
    document = read_document("a.html", PAGE)
    texts = [segment.text for segment in document.segments]
    assert texts == ["A cat", "One <b>two</b> &amp; {{0}}.", "cats", "dogs"]
    written = document.write(["Eine Katze", "Eins <b>zwei</b> {{0}} &amp;.", "Katzen", "Hunde"])
    assert (
        b"<p class=x>Eins <b>zwei</b> <code>x = 1</code> &amp;.<p translate=no>keep me</p><ul><li>Katzen<li>Hunde"
        in written
    )
    assert written.startswith(
        b"<!doctype html>\r\n<html><head><title>Eine Katze</title><style>p { color: red }"
    )


def test_the_encoding_of_a_file_stays() -> None:
    document = read_document("a.txt", "größer\n".encode("utf-16"))
    assert document.write(["kleiner – süß"]).decode("utf-16") == "kleiner – süß\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", b"\xff\x00binary"), ("a.txt", b"a\x00b"), ("a.exe", b""), ("noextension", b"")],
)
def test_a_file_that_is_no_text_is_an_error(name: str, content: bytes) -> None:
    with pytest.raises(DataError):
        read_document(name, content)
    assert ".html" in supported_formats()


@pytest.mark.parametrize(
    ("text", "rules", "pieces"),
    [
        ("Click <b>here</b> now", XML, ["Click <b>here</b> now"]),
        ("<doc><title>One</title><p>Two <i>three</i></p></doc>", XML, ["One", "Two <i>three</i>"]),
        ('Hi <x id="1"></x> you', MarkupRules(ignored=frozenset({"x"})), ["Hi {{0}} you"]),
        ("{{0}} and <x/> too", MarkupRules(ignored=frozenset({"x"})), ["{{0}} and {{1}} too"]),
        ("<b>One<br>two</b> three", HTML, ["One", "two", "three"]),
        ("<p>1 &lt; 2</p>", HTML, []),
        ("a<script>var b = 'c'</script>d", HTML, ["a", "d"]),
    ],
)
def test_markup_is_cut_into_sentences(text: str, rules: MarkupRules, pieces: list[str]) -> None:
    assert [piece.text for piece in cut_markup(text, rules)] == pieces


@given(
    st.text(alphabet="<>/ab &;\n!-\"'=p1", max_size=60),
    st.sampled_from([HTML, XML, MarkupRules(ignored=frozenset("a"))]),
)
def test_pieces_of_any_text_put_back_give_the_text(text: str, rules: MarkupRules) -> None:
    written, last = "", 0
    for piece in cut_markup(text, rules):
        assert last <= piece.start < piece.end
        written += text[last : piece.start] + piece.restore(piece.text)
        last = piece.end
    assert (written + text[last:]).split() == text.split()


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("md", "hello", "world"),
        ("html", "<p>hello", "world</p>"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\nhello", "world\n"),
        ("resx", '<root><data name="a"', "><value>hello world</value></data></root>"),
    ],
)
def test_long_white_space_is_read_in_linear_time(name: str, start: str, end: str) -> None:
    """In quadratic time this would take many minutes."""
    [segment] = read_catalog(name, f"{start}{' ' * 200_000}{end}".encode(), "de").segments
    assert segment.text.split() == ["hello", "world"]
