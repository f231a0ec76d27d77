"""Java properties and Apple strings: read as their programs read them, and written in the style of the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.documents import NewText, read_catalog
from qkv.errors import DataError

PROPERTIES = rb"""# a comment \
! another
   spaced.key   :   The value
plain=caf\u00e9 \
      goes on, and on, until the end
key\ with\:signs Another = value
apostrophes=It''s {0}, isn''t it?
single=It's as it is
choice={0,choice,0#no files|1#one file}
empty=
no.value
=no key
url=\u0041 tab\there\
"""
STRINGS = """/* A title */
"title" = "Hello \\"%@\\" \\n";
// no value
key;
unquoted = "caf\\U00e9"; "a" = word;
""".encode("utf-16")
NASTY = "\n  : = \"q\" \\ \\u0041 & <b> {x} 😀 שלום # ! 'one' \t\x01 "


def test_properties_are_read_as_java_reads_them() -> None:
    document = read_catalog("properties", PROPERTIES)
    assert [(each.key, each.text, each.dialect, bool(each.held)) for each in document.segments] == [
        ("spaced.key", "The value", None, False),
        ("plain", "café goes on, and on, until the end", None, False),
        ("key with:signs", "Another = value", None, False),
        ("apostrophes", "It's {0}, isn't it?", "icu-format", False),
        ("single", "It's as it is", None, False),
        ("choice", "{0,choice,0#no files|1#one file}", "icu-format", True),
        ("", "no key", None, False),
        ("url", "A tab\there", None, False),
    ]
    written = document.write(["=Wört", "eins zwei drei vier fünf sechs sieben acht", None, "C'est {0}", None, None, None, None])  # fmt: skip
    assert rb":   \=W\u00f6rt" in written
    assert b"plain=eins zwei drei vier f\\u00fcnf sechs \\\n      sieben acht\n" in written
    assert b"apostrophes=C''est {0}\n" in written


def test_strings_are_read_as_apple_reads_them() -> None:
    document = read_catalog("strings", STRINGS)
    found = [(each.key, each.text) for each in document.segments]
    assert found == [("title", 'Hello "%@" \n'), ("unquoted", "café"), ("a", "word")]
    written = document.write(['"%@"', "Straße", None]).decode("utf-16")
    assert '"title" = "\\"%@\\"";' in written
    assert 'unquoted = "Stra\\U00dfe"; "a" = word;' in written


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("properties", PROPERTIES),
        ("properties", PROPERTIES.replace(b"\n", b"\r\n")),
        ("properties", PROPERTIES + "\nä=größer".encode("latin-1")),
        ("properties", PROPERTIES + "\nä=größer, 😀".encode()),
        ("properties", PROPERTIES.decode().encode("utf-16")),
        ("strings", STRINGS),
        ("strings", STRINGS.decode("utf-16").replace("\n", "\r\n").encode("utf-16-le")),
        ("strings", STRINGS.decode("utf-16").encode("utf-8-sig")),
    ],
)
def test_any_value_reads_back(format: str, content: bytes) -> None:
    document = read_catalog(format, content)
    assert document.write([each.current for each in document.segments]) == content
    new = [NewText(f"{NASTY}{number}") for number, _ in enumerate(document.segments)]
    written = document.write(new)
    again = read_catalog(format, written)
    if document.compare is not None:
        assert not document.compare(written, new)
        assert document.compare(content, new)
    else:
        assert [each.text for each in again.segments] == [each.text for each in new]
    assert [each.key for each in again.segments] == [each.key for each in document.segments]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["é", "\\u00e9", "a\\\n  b"]))
def test_any_text_is_a_value(text: str, other: str) -> None:
    document = read_catalog("properties", f"a={other}x\nb : c\n".encode())
    new = [NewText(f"x{text}y"), NewText(text or "z")]
    assert document.compare is not None
    assert not document.compare(document.write(new), new)


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("strings", b"bplist00\x00"), ("strings", b'"a" = "b'), ("strings", b'"a" "b";'), ("strings", b'"a" = {"b" = "c";};'),
        ("strings", b"<?xml version='1.0'?><plist/>"), ("properties", b"\xff\xfea"), ("properties", b"a=\x00\xff"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_an_error(format: str, content: bytes) -> None:
    with pytest.raises(DataError):
        read_catalog(format, content)


@pytest.mark.parametrize(
    "text", ["\\" * 50_001, "a\\\n" * 20_000, " \\\n" * 20_000, "/*" * 20_000, '"' * 20_001, "=" * 50_000]
)
def test_hostile_files_take_linear_time(text: str) -> None:
    read_catalog("properties", text.encode())
    with pytest.raises(DataError):
        read_catalog("strings", text.encode())
