"""Subtitles: sentences are joined over cues and cut by alignment, and nothing but text changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.documents import Document, NewText, read_catalog
from qkv.documents.cutting import cut_translation
from qkv.documents.wrapping import width_of, wrap
from qkv.errors import DataError

SRT = """1
00:00:01,000 --> 00:00:03,000 X1:10
{\\an8}<i>I went to the shop, and then</i>

2
00:00:03,100 --> 00:00:05,000
I came home. <b>Nobody</b>
was there.

3
00:00:06,000 --> 00:00:08,000
- Hello, Dr.
- JOHN: Hi!

4
00:00:08,500 --> 00:00:09,000
♪ la la ♪

5
00:00:20,000 --> 00:00:22,000

6
00:00:22,000 --> 00:00:24,000
1984
"""
VTT = """WEBVTT - a title

STYLE
::cue { color: red }

NOTE 00:00 is not a cue

intro
00:01.000 --> 00:03.000 align:start
<v Ann>Cats &amp; dogs

00:03.000 --> 00:04.000
sleep.

00:05.000 --> 00:06.000
<00:05.100><c>one</c> <00:05.500><c>two</c>
"""
FILES = {
    "a.srt": SRT.encode(),
    "crlf.srt": SRT.replace("\n", "\r\n").encode("utf-8-sig"),
    "a.vtt": VTT.encode(),
    "utf-16.vtt": VTT.encode("utf-16"),
}
NASTY = '"q" \\ & <b> </i> --> {x}\n\n7\n00:00:01,000 --> 00:00:02,000\n- 😀 שלום\u2028 ' + "long words " * 30


def read(name: str, content: bytes | None = None) -> Document:
    return read_catalog(name[-3:], FILES[name] if content is None else content)


def test_a_sentence_is_what_one_speaker_says_over_cues() -> None:
    texts = [segment.text for segment in read("a.srt").segments]
    assert texts == [
        "I went to the shop, and then</i> I came home. <b>Nobody</b> was there.".replace("</i>", ""),
        "Hello, Dr.",
        "Hi!",
        "la la",
    ]
    assert [(each.text, bool(each.held)) for each in read("a.vtt").segments] == [
        ("Cats &amp; dogs sleep.", False), ("<c>one</c> <00:05.500><c>two</c>", True)
    ]  # fmt: skip


def test_a_translation_is_cut_where_its_source_is() -> None:
    document = read("a.srt")
    new = NewText(
        "Ich ging in den Laden, und dann kam ich nach Hause. <b>Niemand</b> war da.",
        alignment=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (8, 7), (9, 10), (10, 11), (11, 12), (12, 13)],
    )  # fmt: skip
    written = document.write([new, None, "Na!", None])
    assert written.decode() == SRT.replace(
        "I went to the shop, and then", "Ich ging in den Laden, und dann"
    ).replace(
        "I came home. <b>Nobody</b>\nwas there.", "kam ich nach Hause.\n<b>Niemand</b> war da."
    ).replace("Hi!", "Na!")
    assert document.compare is not None
    assert not document.compare(written, [new, None, NewText("Na!"), None])
    assert document.compare(written, [new, None, None, None])


@pytest.mark.parametrize("name", FILES)
def test_any_translation_changes_only_the_text_of_cues(name: str) -> None:
    document = read(name)
    assert document.write([segment.text for segment in document.segments]) == FILES[name]
    new = [NewText(document.storable(f"{number}{NASTY}")) for number, _ in enumerate(document.segments)]
    written = document.write(new)
    assert document.compare is not None
    assert not document.compare(written, new)
    decoded, own = written.decode(document.encoding), FILES[name].decode(document.encoding)
    assert [each for each in decoded.splitlines() if " --> " in each] == [each for each in own.splitlines() if " --> " in each]  # fmt: skip
    assert document.compare(written.replace("00:0".encode(document.encoding), b""), new)


def test_alignment_and_clauses_decide_over_the_share() -> None:
    assert (
        cut_translation(["a b c d", "e f g h"], "one two and three, four five", None, [84, 84])[0]
        == "one two and three,"
    )
    links = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (6, 4)]
    assert (
        cut_translation(
            ["a b c d", "e f g"], "one two three four five-and-a-very-long-word", links, [84, 84]
        )[0]
        == "one two three four"
    )
    assert cut_translation(["a", "b", "c"], "x", None, [42] * 3) == ["x", "", ""]
    assert cut_translation(["我去了商店，", "然后回家了。"], "我去了商店，然后回家了。", None, [84, 84]) == [
        "我去了商店，",
        "然后回家了。",
    ]


@given(st.text(alphabet="ab ,.-<>/i我、", max_size=300), st.integers(1, 4), st.integers(10, 42))
@settings(deadline=None)
def test_wrapping_keeps_every_character(text: str, lines: int, width: int) -> None:
    made = wrap(text, width, lines)
    assert "".join("".join(made).split()) == "".join(text.split())
    for line in made:
        assert width_of(line) <= width or len(line.split()) == 1 or "<" in line or "我" in line


@given(st.lists(st.text(alphabet="ab ,.-我", max_size=30), min_size=1, max_size=6), st.text(alphabet="xy ,.-我", max_size=120))  # fmt: skip
@settings(deadline=None)
def test_cutting_keeps_every_character(sources: list[str], text: str) -> None:
    made = cut_translation(sources, text, [(0, 0), (3, 1), (99, 99)], [42] * len(sources))
    assert len(made) == len(sources)
    assert "".join("".join(made).split()) == "".join(text.split())


def test_a_file_without_cues_is_an_error_and_a_hostile_one_takes_no_time() -> None:
    with pytest.raises(DataError, match="no cue"):
        read_catalog("srt", b"hello")
    cue = "00:00:01,000 --> 00:00:02,000\n"
    for text in (
        "<" * 20_000,
        "{" * 20_000,
        "- " * 10_000,
        "<i>" * 8_000,
        "[" * 20_000,
        "A" * 20_000,
        "a " * 20_000,
    ):
        document = read_catalog("srt", f"{cue}{text}x\n".encode())
        document.write([NewText(text, alignment=[(0, 0)]) for _ in document.segments])
