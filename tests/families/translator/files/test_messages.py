"""ICU messages are translated sentence by sentence, and the model never reads their syntax."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_drafts import drafts

from qkv.documents import Segment, read_catalog
from qkv.documents.icu import Style, can_be_read, parse_message

FILES = "{n, plural, =0 {No files} one {# file} other {# files}} in {folder}"


def segment(text: str) -> Segment:
    [found] = read_catalog("arb", json.dumps({"key": text}).encode()).segments
    return found


def russian(text: str) -> str:
    """Nouns in the form of their number."""
    assert not re.search("plural|other|#", text), text

    def form(match: re.Match[str]) -> str:
        number = match[1]
        word = (
            "файла" if "." in number else {"1": "файл", "2": "файла", "3": "файла"}.get(number[-1], "файлов")
        )
        return f"{number.replace('.', ',')} {word}"

    return re.sub(r"([\d.]+) files?", form, text).replace("No files", "Нет файлов").replace("in", "в")


def test_a_message_gets_the_categories_of_the_target_language() -> None:
    [found] = drafts([segment(FILES)], russian, target="ru")
    assert found.text == (
        "{n, plural, =0 {Нет файлов в {folder}} one {# файл в {folder}} few {# файла в {folder}} "
        "many {# файлов в {folder}} other {# файла в {folder}}}"
    )
    assert found.checks == ()
    [japanese] = drafts(
        [segment(FILES)], lambda text: re.sub(r"(\d+) files in (.*)", r"\2に\1個", text), target="ja"
    )
    assert japanese.text == "{n, plural, =0 {No files in {folder}} other {{folder}に#個}}"


@pytest.mark.parametrize(
    ("text", "target", "wanted"),
    [
        ("{g, select, male {He} other {They}} left.", "de", "{g, select, male {[He left.]} other {[They left.]}}"),
        ("{n,plural,one{{n} day}other{{n} days}}", "de", "{n,plural,one{[{n} day]} other{[{n} days]}}"),
        ("The {n, selectordinal, one {#st} two {#nd} few {#rd} other {#th}} day", "de", "{n, selectordinal, other {[The #nd day]}}"),
        ("{n, plural, one {is} other {are}} {n, plural, one {# cat} other {# cats}}", "de", "{n, plural, one {[is # cat]} other {[are # cats]}}"),
        ("{a, plural, one {# cat} other {# cats}}, {b, plural, one {# dog} other {# dogs}}", "ja", "{a, plural, other {{b, plural, other {[{a} cats, # dogs]}}}}"),
        ("{n, plural, offset:1 =0 {Nobody} one {You and # other} other {You and # others}}", "de", "{n, plural, offset:1 =0 {[Nobody]} one {[You and # other]} other {[You and # others]}}"),
        ("{n, plural, other {Say '{'x'}' # times}}", "de", "{n, plural, one {[Say '{'x'}' # times]} other {[Say '{'x'}' # times]}}"),
    ],
)  # fmt: skip
def test_every_option_is_a_whole_sentence(text: str, target: str, wanted: str) -> None:
    [found] = drafts([segment(text)], lambda sentence: f"[{sentence}]", target=target)
    assert (found.text, found.checks) == (wanted, ())


def test_an_apostrophe_before_a_brace_begins_no_quotation() -> None:
    [found] = drafts(
        [segment("{g, select, other {The {x}}}")], lambda text: text.replace("The ", "l'"), target="fr"
    )
    assert found.text == "{g, select, other {l’{x}}}"
    [counted] = drafts(
        [segment("{n, plural, other {The # x}}")], lambda text: text.replace("The ", "l'"), target="ja"
    )
    assert counted.text == "{n, plural, other {l’# x}}"


def test_an_empty_option_stays_empty() -> None:
    text = "{n, plural, =0 {} other {# {n, plural, =0 {} other {x}}}}"
    [found] = drafts([segment(text)], str, target="ja")
    assert found.text == "{n, plural, =0 {} other {# x}}"


def test_what_gets_lost_is_marked() -> None:
    [lost] = drafts([segment(FILES)], lambda _: "weg", target="de")
    assert set(lost.checks) == {"message"}  # the folder is nowhere: the source stays
    assert lost.text == FILES
    [spelled] = drafts([segment(FILES)], lambda text: re.sub(r"\d+", "viele", text), target="de")
    assert spelled.checks == ("plural form",)
    [held] = drafts([segment("#1: {n, plural, other {#}}")], str, target="de")
    assert (held.origin, held.checks) == ("held", ("message",))


def test_a_message_that_cannot_be_read_is_held() -> None:
    assert segment("{n, plural, one {x}}").held
    assert segment("{n, plural, other {x}").held
    assert not can_be_read("{n, plural, other {" * 30 + "x" + "}}" * 30)


@given(st.text("{}'#,a plurotheselc=0", max_size=60))
@settings(max_examples=500)
def test_a_message_that_is_read_is_written_as_it_was_but_for_white_space(text: str) -> None:
    if can_be_read(text):
        written = Style.of(text).written(parse_message(text))
        assert parse_message(written) == parse_message(text)


@pytest.mark.parametrize("part", ["{a, plural, other {", "'{", "{a", "''", "{a, select, x{", "'", "}"])
def test_reading_takes_linear_time(part: str) -> None:
    began = time.process_time()
    can_be_read(part * (99_000 // len(part)))
    assert time.process_time() - began < 2
