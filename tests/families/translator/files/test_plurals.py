"""Plural forms that the source lacks are translated with a number, which is then exchanged for the placeholder."""

import pytest
from segment_drafts import drafts

from qkv.documents import Segment, read_catalog
from qkv.documents.plural_expression import parse_expression
from qkv.documents.plural_forms import categories, gettext_numbers, plural_forms, usual_categories
from qkv.families.translator.files.numbers import find_number
from qkv.families.translator.files.task import Draft

HEADER = b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: %s\\n"\n\n'
FILES = b'#, c-format\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'


def segments_for(language: str, entry: bytes = FILES) -> list[Segment]:
    return list(read_catalog("po", HEADER % str(plural_forms(language)).encode() + entry, language).segments)


def test_each_form_is_translated_with_a_number_of_its_own() -> None:
    def russian(text: str) -> str:
        number, _, _ = text.partition(" ")
        return {"%d": "%d файл", "2": "2 файла", "5": "5 файлов"}[number]

    found = drafts(segments_for("ru"), russian)
    assert [(each.text, each.checks) for each in found] == [
        ("%d файл", ()),
        ("%d файла", ()),
        ("%d файлов", ()),
    ]


def test_a_number_that_is_spelled_out_is_tried_again_and_then_the_form_is_doubtful() -> None:
    asked: list[str] = []

    def model(text: str) -> str:
        asked.append(text)
        return text.replace("22 files", "plik 22").replace("2 files", "dwa pliki")

    found = drafts(segments_for("pl"), model)
    assert asked[:2] == ["%d file", "2 files"]
    assert found[1] == Draft(text="3 files".replace("3", "%d"))
    vague = drafts(
        segments_for("pl", b'msgid "a file"\nmsgid_plural "files"\nmsgstr[0] ""\n'), lambda text: text
    )
    assert [each.checks for each in vague] == [(), ("plural form",), ("plural form",)]


def test_the_header_and_not_cldr_decides_how_many_forms_a_catalog_has() -> None:
    assert [each.is_ambiguous for each in segments_for("es")] == [False, False]
    assert list(categories("es")) == ["one", "many", "other"]
    assert list(usual_categories("es")) == ["one", "other"]
    arabic = segments_for("ar")
    assert [each.text.split()[1] for each in arabic] == ["files", "file", *["files"] * 4]
    assert arabic[3].numbers[0] == "3"


@pytest.mark.parametrize("stated", ["plural=n", "nplurals=2; plural=n/0;", "nplurals=2; plural=n;", "nplurals=2; plural=(n", "nplurals=2; plural=" + "(" * 900])  # fmt: skip
def test_an_expression_that_cannot_be_used_gives_no_numbers(stated: str) -> None:
    assert gettext_numbers(stated) == ()


def test_expressions_are_read_as_c_does() -> None:
    for text in (
        "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2",
        "!(n-1)",
        "n > 1",
    ):
        expression = parse_expression(text)
        assert expression is not None
        python = "n > 1" if text == "n > 1" else "not (n-1)" if text == "!(n-1)" else (
            "0 if n%10==1 and n%100!=11 else 1 if n%10>=2 and n%10<=4 and (n%100<10 or n%100>=20) else 2"
        )  # fmt: skip
        assert [expression(n) for n in range(300)] == [int(eval(python)) for n in range(300)]


@pytest.mark.parametrize(
    ("text", "number", "found"),
    [
        ("5 Dateien", "5", "5"),
        ("15 Dateien", "5", None),
        ("5 von 5", "5", None),
        ("1.000.000 de archivos", "1000000", "1.000.000"),
        ("1 000 000 de fichiers", "1000000", "1 000 000"),
        ("1,5 файла", "1.5", "1,5"),
        ("٥ ملفات", "5", "٥"),
        ("0,5 l", "5", None),
    ],
)
def test_a_number_is_found_however_it_is_written(text: str, number: str, found: str | None) -> None:
    place = find_number(text, number)
    assert (text[slice(*place)] if place else None) == found
