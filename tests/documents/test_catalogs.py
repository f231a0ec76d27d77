"""Catalogs: own texts give the same bytes, any translation reads back exactly, and hostile files are an error."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.documents import CATALOGS, Document, NewText, is_catalog, read_catalog
from qkv.documents.plural_forms import plural_forms
from qkv.documents.po_text import quoted, unescape
from qkv.errors import DataError, InputError, OptionError

HEADER = b"""# A licence.
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

"""
PO = (
    HEADER
    + """#. For translators
#: a.c:1
#, python-format
msgid "%d cats and \\"dogs\\""
msgstr ""

#, fuzzy, c-format
#| msgid "an old text"
msgctxt "menu"
msgid ""
"A long text that stands on several lines, because gettext wraps all that is longer than eighty characters.\\n"
"And a second line"
msgstr ""
"Größer, "
"kleiner"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] ""

msgid   "done" ""
msgstr	"fertig"

#, fuzzy
#~ msgid "gone"
#~ msgstr "weg"
""".encode()
)
JSON = """{
  "title": "Two {{count}} cats",
  "deep": {"list": ["one", 2, "three \\"quoted\\" \\\\ \\n"], "empty": "", "file_one": "a file", "file_other": "files"},
  "größe": "caf\\u00e9 \\/ <b>bold</b>", "n": null, "t": true, "x": -1.5e3
}
""".encode()
ARB = b"""{
  "@@locale": "en",
  "hello": "Hello {name}",
  "@hello": {"description": "A greeting", "placeholders": {"name": {"type": "String"}}},
  "cats": "{n, plural, one {a cat} other {{n} cats}}"
}
"""
FILES = {
    "po": PO,
    "crlf.po": PO.replace(b"\n", b"\r\n"),
    "bom.po": b"\xef\xbb\xbf" + PO,
    "latin.po": PO.replace(b"UTF-8", b"ISO-8859-1").decode().encode("latin-1"),
    "no-newline.po": PO.split(b"\n#, fuzzy\n#~")[0],
    "json": JSON,
    "utf-16.json": JSON.decode().encode("utf-16"),
    "arb": ARB,
}
NASTY = 'a "quote" \\ back\\n\nline\t\r &amp; <b> %d {x} 😀 שלום \x01\x7f \u2028' + "long " * 60


def read(name: str, content: bytes | None = None, target: str | None = None) -> Document:
    return read_catalog(name.split(".")[-1], FILES[name] if content is None else content, target)


@pytest.mark.parametrize("name", FILES)
def test_own_texts_give_the_same_bytes(name: str) -> None:
    document = read(name)
    own = [NewText(segment.current, segment.state == "fuzzy") for segment in document.segments]
    assert document.segments
    assert document.write(own) == FILES[name]
    assert document.write([None] * len(own)) == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_any_translation_reads_back_and_nothing_else_changes(name: str) -> None:
    document = read(name)
    new = [document.storable(f"{number}{NASTY}{number}") for number, _ in enumerate(document.segments)]
    written = document.write(
        [
            NewText(text, segment.state == "fuzzy")
            for text, segment in zip(new, document.segments, strict=True)
        ]
    )
    again = read(name, written)
    assert [segment.current for segment in again.segments] == new
    assert [segment.key for segment in again.segments] == [segment.key for segment in document.segments]
    if name.endswith("po"):  # a redone entry loses the text that it was made from
        assert b"#|" not in written
    else:
        assert outside_of(again) == outside_of(document)


def outside_of(document: Document) -> list[bytes]:
    places = [
        0,
        *(place for segment in document.segments for place in (segment.start, segment.end)),
        len(document.content),
    ]
    return [document.content[start:end] for start, end in zip(places[::2], places[1::2], strict=True)]


def test_entries_of_a_catalog() -> None:
    document = read("po")
    assert document.target_language == "de"
    assert [(each.text[:10], each.target, each.state, each.dialect, each.plural) for each in document.segments] == [
        ('%d cats an', "", "untranslated", "python-format", ""),
        ("A long tex", "Größer, kleiner", "fuzzy", "c-format", ""),
        ("%d file", "%d Datei", "translated", None, "0"),
        ("%d files", "", "untranslated", None, "1"),
        ("done", "fertig", "translated", None, ""),
    ]  # fmt: skip
    assert document.segments[1].context == "menu"


def test_doubt_is_marked_and_a_redone_entry_is_no_longer_fuzzy() -> None:
    written = read("po").write([NewText("%d Katzen", True), "Neu", None, NewText("%d Dateien", True), None])
    wanted = (
        PO.replace(b"#, python-format\n", b"#, fuzzy, python-format\n")
        .replace(b'dogs\\""\nmsgstr ""', b'dogs\\""\nmsgstr "%d Katzen"')
        .replace(b'#, fuzzy, c-format\n#| msgid "an old text"\n', b"#, c-format\n")
        .replace('msgstr ""\n"Größer, "\n"kleiner"'.encode(), b'msgstr "Neu"')
        .replace(b'msgid "%d file"\n', b'#, fuzzy\nmsgid "%d file"\n')
        .replace(b'msgstr[1] ""', b'msgstr[1] "%d Dateien"')
    )
    assert written == wanted


def test_a_fuzzy_form_that_stays_keeps_its_entry_fuzzy() -> None:
    content = HEADER + b'#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "x"\nmsgstr[1] ""\n'
    assert read("po", content).write([None, "y"]) == content.replace(b'[1] ""', b'[1] "y"')


def test_a_template_gets_the_language_its_plural_forms_and_missing_slots() -> None:
    template = (
        b'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset=CHARSET\\n"\n'
        b'"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    document = read("po", template, "pl")
    assert [segment.is_ambiguous for segment in document.segments] == [False, True, True]
    written = document.write(["x", "y", "ż"]).decode()
    assert written.endswith('msgstr[0] "x"\nmsgstr[1] "y"\nmsgstr[2] "ż"\n')
    assert '"Language: pl\\n"' in written
    assert f'"Plural-Forms: {plural_forms("pl")}\\n"' in written
    assert "charset=UTF-8" in written
    assert document.write([None] * 3) == template


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize("name", ["po", "crlf.po"])
def test_gettext_accepts_what_is_written(name: str, tmp_path: Path) -> None:
    document = read(name)
    new = [
        NewText(f'ß "\\ 😀 {segment.text}', number % 2 == 0)
        for number, segment in enumerate(document.segments)
    ]
    (tmp_path / "a.po").write_bytes(document.write(new))
    ran = subprocess.run(["msgfmt", "--check-format", "a.po", "-o", "a.mo"], cwd=tmp_path, capture_output=True, text=True, check=False)  # fmt: skip
    errors = [line for line in ran.stderr.splitlines() if "header field" not in line]  # ours has few fields
    assert (ran.returncode, errors) == (0, [])


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize("language", ["de", "fr", "ru", "pl", "ar", "ja", "sl", "lv"])
def test_gettext_accepts_the_plural_forms(language: str, tmp_path: Path) -> None:
    header = HEADER.replace(b"nplurals=2; plural=(n != 1);", str(plural_forms(language)).encode())
    count = int(str(plural_forms(language)).split("nplurals=")[1][0])
    slots = "".join(f'msgstr[{form}] "x"\n' for form in range(count)).encode()
    (tmp_path / "a.po").write_bytes(header + b'msgid "a"\nmsgid_plural "b"\n' + slots)
    ran = subprocess.run(["msgfmt", "a.po", "-o", "a.mo"], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_strings_of_json_files() -> None:
    found = [(each.key, each.text, each.plural) for each in read("json").segments]
    assert found == [
        ("title", "Two {{count}} cats", ""),
        ("deep.list.0", "one", ""),
        ("deep.list.2", 'three "quoted" \\ \n', ""),
        ("deep.file_one", "a file", "one"),
        ("deep.file_other", "files", "other"),
        ("größe", "café / <b>bold</b>", ""),
    ]


def test_plural_keys_that_only_the_target_language_has_are_inserted() -> None:
    content = b'{\n\t"see_other" : "x",\n\t"a_one" : "one {{count}}",\n\t"a_other" : "many {{count}}"\n}\n'
    document = read("json", content, "ru")
    assert [(each.key, each.text, each.numbers[:1]) for each in document.segments][3:] == [
        ("a_few", "many {{count}}", ("2",)), ("a_many", "many {{count}}", ("0",))
    ]  # fmt: skip
    written = document.write([None, None, "o", "f", "m"])
    assert written == content.replace(b'"many {{count}}"', b'"o",\n\t"a_few" : "f",\n\t"a_many" : "m"')
    assert [each.key for each in read("json", written, "ru").segments] == [
        each.key for each in document.segments
    ]
    assert document.write([None] * 5) == content


def test_the_escapes_of_a_json_file_are_kept() -> None:
    escaped = json.dumps({"a": "für <b>", "c": "x"}).replace("<", "\\u003C").encode()
    assert read("json", escaped).write(["ü<😀", "y/"]) == (
        b'{"a": "\\u00FC\\u003C\\uD83D\\uDE00", "c": "y/"}'
    )
    assert read("json", '{"a": "für"}'.encode()).write(["ü 😀"]) == '{"a": "ü 😀"}'.encode()


def test_metadata_of_arb_files_stay_and_the_locale_is_set() -> None:
    document = read("arb", target="de-AT")
    assert [(each.key, each.is_message) for each in document.segments] == [("hello", False), ("cats", True)]
    assert document.source_language == "en"
    wanted = ARB.replace(b'"en"', b'"de_AT"').replace(b'"Hello {name}"', b'"Hallo {name}"')
    assert document.write(["Hallo {name}", None]) == wanted


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("po", PO.replace(b"UTF-8", b"klingon"), "charset 'klingon'"),
        ("po", PO.replace(b"UTF-8", b"ascii"), "not text in ascii"),
        ("po", PO.replace(b"UTF-8", b"hex"), "charset 'hex'"),
        ("po", PO.replace(b"nplurals=2", b"nplurals=999999"), "999999 plural forms"),
        ("po", HEADER + b'msgid "a', "line 8 .*not closed"),
        ("po", HEADER + b'msgid "a"\n', "without a msgstr"),
        ("po", HEADER + b'msgid "a"\nmsgstr "\\q"\n', "escape"),
        ("po", HEADER + b'msgid "a"\nmsgid "b"\nmsgstr ""\n', "a second msgid"),
        ("po", HEADER + b'msgid "a"\nmsgstr\n', "without a string"),
        ("po", b"\x89PNG\x00", "Save it as UTF-8"),
        ("json", b"[" * 100_000, "more than 500 levels"),
        ("json", JSON[:60], "not valid JSON"),
        ("json", b'{"a": "\\q"}', "escape"),
        ("json", b'{"a": "b"} {', "wrong place"),
        ("json", b"", "end of the file"),
        ("arb", b"\xff\xfe\xff", "not text"),
    ],
)
def test_a_damaged_file_is_an_error(name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_catalog(name, content)


@pytest.mark.parametrize("extension", ["pdf", "rst", "tex"])
def test_formats_that_cannot_be_translated_have_advice(extension: str) -> None:
    with pytest.raises(DataError, match=rf"\.{extension} files cannot be translated\. "):
        is_catalog(f"a.{extension}")


@given(st.text(alphabet='ab\\"\n\r\t #:,[]{}msgidtr0\x00é😀', max_size=80), st.sampled_from(sorted(CATALOGS)))
@settings(max_examples=300)
def test_any_text_is_read_or_an_error(text: str, format: str) -> None:
    content = text.encode()
    try:
        document = read_catalog(format, content)
    except (DataError, InputError, OptionError):  # a table without the name of a column
        return
    assert document.write([None] * len(document.segments)) == content


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_any_string_of_a_catalog_reads_back(text: str, wrapped: bool) -> None:
    written = quoted(text, "\n", wrapped=wrapped)
    assert "".join(str(unescape(line[1:-1])) for line in written.split("\n")) == text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_any_json_has_the_strings_that_python_reads(value: object, ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    document = read_catalog("json", text.encode(errors="surrogatepass") if ascii else text.encode())
    wanted = [each for each in strings_in(value) if each.strip()]
    assert [segment.text for segment in document.segments] == wanted
    new = [f'{each}\n"é' for each in wanted]
    assert [each for each in strings_in(json.loads(document.write(new))) if each.strip()] == new


def strings_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return [text for each in inner for text in strings_in(each)]
