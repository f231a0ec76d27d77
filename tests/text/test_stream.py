"""Text bit by bit."""

import pytest

from qkv.text.stream import decode_stream, stop_at


def test_a_character_is_emitted_once_all_its_bytes_arrive() -> None:
    raw = "é🎉!".encode()
    assert list(decode_stream(raw[place : place + 1] for place in range(len(raw)))) == ["é", "🎉", "!"]


def test_bytes_that_are_no_text_are_marked_and_nothing_is_lost_at_the_end() -> None:
    assert "".join(decode_stream([b"a\xff", b"b\xc3"])) == "a\ufffdb\ufffd"


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_the_text_before_the_stop_is_emitted_however_it_is_split(size: int) -> None:
    text = "one two\nthree\n\nfour\n\nfive"
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    assert "".join(stop_at(pieces, "\n\n")) == "one two\nthree"
    assert "".join(stop_at(pieces, "never")) == text
    assert "".join(stop_at(pieces, "")) == text
