"""Every string comes back from its ids exactly, and no text can pass for a special token."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.errors import QkvError
from qkv.text.tokenizer import MIN_VOCAB_SIZE, SPECIAL, Tokenizer, split_long_words

ENGLISH = ["the cat danced", "the cats dance", "a baby is crying", "the baby danced with the cat"] * 5
GERMAN = ["die Katze tanzte", "die Katzen tanzen", "ein Baby weint", "das Baby tanzte mit der Katze"] * 5
TOKENIZER = Tokenizer.learn([*ENGLISH, *GERMAN], 340)

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
FAMILIAR = st.text(st.sampled_from("the cat \t\n<end>padst▁Ġ "), max_size=60)

NASTY = [
    "",
    " ",
    "   ",
    " leading",
    "trailing ",
    "  two  between  ",
    "<end>",
    "<pad><start><end>",
    " <end> of the cat",
    "▁the▁cat",
    "ĠtheĠcat",
    "Ċ",
    "👩‍👩‍👧‍👦 👍🏽",
    "e\u0301 is not é",
    "\u0301",
    "a\u0000b\u0007\u001b[31m\u007f",
    "one\u2028two\u2029three\u0085four",
    "\n\nlines\r\n\ttabs\t",
    "\ufeffmark",
    "\u202eright to left\u202c שלום",
    "\uffff\U0010ffff",
    "ﬁ ① ² ｆｕｌｌ",  # what normalisation would change
]


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_survives_the_round_trip(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@settings(max_examples=300, deadline=None)
@given(st.one_of(UNICODE, FAMILIAR))
def test_any_unicode_survives_the_round_trip(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.one_of(UNICODE, FAMILIAR, st.sampled_from(NASTY)))
def test_special_ids_never_come_from_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert not {TOKENIZER.pad, TOKENIZER.start, TOKENIZER.end} & set(ids)
    assert all(len(SPECIAL) <= each < len(TOKENIZER) for each in ids)


def test_special_tokens_have_the_ids_of_the_model() -> None:
    ids = [TOKENIZER.library.token_to_id(token) for token in SPECIAL]
    assert ids == [TOKENIZER.pad, TOKENIZER.start, TOKENIZER.end] == [0, 1, 2]


def test_special_ids_leave_no_trace_in_decoded_text() -> None:
    ids = TOKENIZER.encode("the cat")
    assert TOKENIZER.decode([TOKENIZER.start, *ids, TOKENIZER.end, TOKENIZER.pad]) == "the cat"


def test_the_first_word_is_the_same_token_as_inside_a_sentence() -> None:
    assert TOKENIZER.encode("the the") == TOKENIZER.encode("the") * 2


def test_text_outside_the_training_alphabet_falls_back_to_bytes() -> None:
    byte_count = len("猫".encode())
    assert len(TOKENIZER.encode("猫")) <= 1 + byte_count
    assert len(TOKENIZER.encode("the cat")) == 2


def test_encoding_many_equals_encoding_each() -> None:
    assert TOKENIZER.encode_all(NASTY) == [TOKENIZER.encode(text) for text in NASTY]
    assert TOKENIZER.encode_all([]) == []


def test_a_vocabulary_smaller_than_the_bytes_raises_an_error() -> None:
    with pytest.raises(QkvError, match=f"{MIN_VOCAB_SIZE - 1} is too small: give at least {MIN_VOCAB_SIZE}"):
        Tokenizer.learn(ENGLISH, MIN_VOCAB_SIZE - 1)
    assert len(Tokenizer.learn(ENGLISH, MIN_VOCAB_SIZE)) == MIN_VOCAB_SIZE


def test_a_vocabulary_never_exceeds_its_size_and_stops_if_nothing_merges() -> None:
    assert len(Tokenizer.learn([*ENGLISH, *GERMAN], 300)) == 300
    small = Tokenizer.learn(["ab ab"], 10_000)
    assert MIN_VOCAB_SIZE < len(small) < MIN_VOCAB_SIZE + 10


def test_both_languages_share_one_vocabulary() -> None:
    joint = Tokenizer.learn([*ENGLISH, *GERMAN], 10_000)
    for word in ("danced", "tanzte"):
        assert len(joint.encode(word)) == 1
    alone = Tokenizer.learn(ENGLISH, 10_000)
    assert len(alone.encode("tanzte")) > 1


def test_a_saved_tokenizer_loads_equal(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(TOKENIZER.text(), encoding="utf-8")
    loaded = Tokenizer.load(path)
    assert loaded.text() == TOKENIZER.text()
    assert loaded.encode_all(NASTY) == TOKENIZER.encode_all(NASTY)


def test_learning_twice_gives_the_same_vocabulary() -> None:
    again = Tokenizer.learn([*ENGLISH, *GERMAN], 340)
    assert again.library.get_vocab() == TOKENIZER.library.get_vocab()
    assert again.text() == TOKENIZER.text()


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\xff\xfe"])
def test_the_error_names_a_file_that_is_not_a_tokenizer(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(QkvError, match=r"tokenizer\.json is not a tokenizer file"):
        Tokenizer.load(path)


def test_every_shown_token_is_visible() -> None:
    ids = [TOKENIZER.start, *TOKENIZER.encode("the cat 猫"), TOKENIZER.end]
    shown = TOKENIZER.show(ids)
    assert shown[:3] == ["<start>", "the", "cat"]
    assert shown[-1] == "<end>"
    assert len(shown) == len(ids)
    assert all(shown)


def test_only_words_without_end_are_cut_before_they_are_learned_from() -> None:
    ordinary = ["the cat\ndanced, " * 300, "我们" * 400 + "，" + "猫" * 900, ""]
    assert list(split_long_words(ordinary)) == ordinary
    endless = "see " + "ab" * 1_300 + " " * 1_500 + "end"
    parts = list(split_long_words([endless]))
    assert "".join(parts) == endless
    assert max(map(len, parts)) <= 4 + 2 * 1_000


def test_text_without_spaces_is_learned_from_parts() -> None:
    """As one word, 200,000 letters took most of a minute, and a megabyte twenty: the time grew with the square."""
    letters = "".join(random.Random(1).choices("abcdefghij", k=20_000))
    assert max(map(len, split_long_words([letters]))) <= 1_000
    tokenizer = Tokenizer.learn([letters], 400, sentences=False)
    assert tokenizer.decode(tokenizer.encode(letters[:5_000])) == letters[:5_000]


@pytest.mark.parametrize("run", ["-" * 900, "_-" * 450, "a" * 900, "7" * 900, " " * 900])
def test_long_runs_are_scanned_once(run: str) -> None:
    """As many characters in runs of eight times the length take about as long. Looked at from each, they would take eight
    times as long."""

    def seconds(length: int) -> float:
        texts = [run[:length] + ("x\n" if run[0] != "a" else "7\n")] * (90_000 // length)
        taken = []
        for _ in range(5):
            began = time.process_time()
            assert list(split_long_words(texts)) == texts
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(900) < 4 * seconds(112)


def test_marks_and_underscores_without_end_are_one_run() -> None:
    assert len(list(split_long_words(["-_" * 600]))) == 2
