"""Markup is found where it is, nothing else is, and hostile text costs no more than its length."""

import gc
import time
from collections.abc import Callable

import pytest

from qkv.corpus.filters import ADDRESS, LETTER, MARKUP, MOJIBAKE, NUMBER
from qkv.corpus.words import WORD
from qkv.data.po import PO_KEYWORD, PO_STRING
from qkv.data.sentences import ENDS, sentences_of
from qkv.families.translator.guarantees.job import as_read
from qkv.hub.download import NAME
from qkv.text.markup import scan
from qkv.text.protect import KINDS, occurrences, protected_spans, split_lines, split_long_text
from qkv.text.segment import split_to_fit
from qkv.text.words import WORDS_AND_MARKS
from qkv.tracing.experiments import SILENCED


def found(text: str) -> list[tuple[str, str, str]]:
    return [(each.kind, each.name, text[each.start : each.end]) for each in scan(text)]


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ('<a title="x > y">', [("open", "a", '<a title="x > y">')]),
        ("<B></B ><br />", [("open", "b", "<B>"), ("close", "b", "</B >"), ("empty", "br", "<br />")]),
        ("<!-- <b> --x-->", [("comment", "", "<!-- <b> --x-->")]),
        ("<![CDATA[ <b>a</b> ]]>", [("cdata", "", "<![CDATA[ <b>a</b> ]]>")]),
        (
            '<!DOCTYPE x [ <!ENTITY a "b>c"> ]>',
            [("declaration", "doctype", '<!DOCTYPE x [ <!ENTITY a "b>c"> ]>')],
        ),
        ('<?xml version="1.0"?>', [("instruction", "xml", '<?xml version="1.0"?>')]),
        ("<?php echo $a > 1 ?>", [("instruction", "php", "<?php echo $a > 1 ?>")]),
        ("<script>if (a<b) '</b>'</SCRIPT>", [("raw", "script", "<script>if (a<b) '</b>'</SCRIPT>")]),
        ("<style a='>'>b > i {}</style >", [("raw", "style", "<style a='>'>b > i {}</style >")]),
        ("&amp;&#39;&#x3C;", [("entity", "", "&amp;"), ("entity", "", "&#39;"), ("entity", "", "&#x3C;")]),
        ('<a href="x>y</a>', [("open", "a", '<a href="x>'), ("close", "a", "</a>")]),
        ("a < b and c > d, x<y, <3, </ b>, <!-- no end, <![CDATA[, <?, R&D, &#;", []),
    ],
)
def test_markup_is_found_and_nothing_else(text: str, markup: list[tuple[str, str, str]]) -> None:
    assert found(f"a {text} b") == markup


HOSTILE = [
    *(
        "<!--",
        "<![CDATA[",
        "<?x",
        "<!x",
        '<!x "',
        "<!x [",
        "<!x [ ]",
        "<script>",
        "<script></script",
        "<style",
    ),
    *("<", "</", "<!", "<?", "<a", '<a "', "<a '", '<a ="" ="', '<a ">', "<a '\"", "<a'\"<a \"'", "{{<!--}}"),
    *(
        "&",
        "&a",
        "&#1",
        "%0",
        "%",
        "%(a",
        "%(a)0",
        "%1",
        "%1$",
        "%.0",
        "{{",
        "{",
        "{ ",
        "${",
        "[[",
        "[[ ",
        "}}",
    ),
    *(
        "http://",
        "http://.",
        "http://{{",
        "http://({",
        "http://((a)",
        "http://[[a",
        "http://&a;",
        "(",
        "((a)",
        "({{",
        "({{a}}",
        "[",
        "www.",
        "www.www",
        "a@",
        "a@b.",
        "@a",
        "a.",
        "a-",
        "1.",
        "1-",
        "1",
        "0",
        "a",
        ".",
    ),
    *(
        ". ",
        '."',
        ".\" '",
        " ",
        "\n",
        "\n ",
        "'",
        "a'",
        ":;",
        "\\",
        '"',
        '\\"',
        "=",
        "x[",
        "。",
        "...)",
        "\x85",
    ),
]
WAYS: dict[str, Callable[[str], object]] = {
    "protected_spans": lambda text: protected_spans(text, KINDS),
    "lines_around": lambda text: split_lines(text, KINDS),
    "split_around": lambda text: split_long_text(text, KINDS, len, 100),
    "split_to_fit": lambda text: split_to_fit(text, len, 100),
    "sentences_of": sentences_of,
    "as_read": as_read,
    "occurrences": lambda text: occurrences(text, "www.a"),
    "patterns": lambda text: [
        (list(each.finditer(text)), each.fullmatch(f"{text}\n!")) for each in (WORDS_AND_MARKS, ENDS)
    ],
    "filters of corpora": lambda text: [
        each.findall(text) for each in (MARKUP, ADDRESS, NUMBER, MOJIBAKE, LETTER, WORD)
    ],
    "matched whole": lambda text: [
        each.fullmatch(f"{before}{text}\n!")
        for each, before in ((PO_KEYWORD, "msgid"), (PO_STRING, '"'), (NAME, "a"), (SILENCED, "a.1"))
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_the_time_for_hostile_text_grows_with_its_length(way: str) -> None:
    """Four times the text takes about four times as long; with squares it would be sixteen times."""

    def seconds(text: str) -> float:
        begin = time.process_time()
        WAYS[way](text)
        return time.process_time() - begin

    def is_linear(small: str, large: str) -> bool:
        return any(seconds(large) < 10 * seconds(small) + 0.001 for _ in range(5))  # a machine can be busy

    gc.disable()  # a collection takes longer than all of this
    try:
        for unit in HOSTILE:
            for before, behind in (("", ""), ("%", "x"), ('<a "', "-->"), ("http://({", "x"), ("<", "")):
                small, large = (before + unit * (count // len(unit)) + behind for count in (1_000, 4_000))
                assert is_linear(small, large), f"{before}{unit * 3}…{behind}"
    finally:
        gc.enable()
