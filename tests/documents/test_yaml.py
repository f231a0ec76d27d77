"""YAML: strings are found by PyYAML, keep their style where it can express the text, and read back exactly."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.documents import NewText, read_catalog
from qkv.documents.document import Document
from qkv.errors import DataError

RAILS = """---
# A comment: here
en:
  hello: Hello %{name}  # behind
  day: "%d. %B %Y"
  "quoted": "two\\n\\u00fc"
  single: 'it''s'
  list: [one, "two", 3, yes]
  long: a text that
    goes on
  anchor: &a !!str three
  again: *a
  files:
    one: a file
    other: '%{count} files'
  literal: |-
    First: line

      indented
  folded: >+
    One two
    three

    four

  number: 5
  empty:
"""
VALUES = {"hello": "Hello %{name}", "quoted": "two\nü", "single": "it's", "list.0": "one", "list.1": "two", "long": "a text that goes on",
          "anchor": "three", "files.one": "a file", "files.other": "%{count} files", "literal": "First: line\n\n  indented",
          "folded": "One two three\nfour"}  # fmt: skip


def reads_back(document: Document, new: list[NewText | None], written: bytes) -> bool:
    assert document.compare is not None
    return not document.compare(written, new)


def test_strings_of_rails_and_their_language() -> None:
    document = read_catalog("yml", RAILS.encode(), "de")
    assert {each.key: each.text for each in document.segments} == VALUES
    assert document.source_language == "en"
    assert [each.plural for each in document.segments if each.plural] == ["one", "other"]
    assert {each.dialect for each in document.segments} == {"ruby-format"}


def test_each_style_stays_where_it_can_express_the_text() -> None:
    new = ["Hallo", 'eins\n"zwei"', "ist's", "a", "b: c", "lang", "drei", "# x", "so: %{count}", "Neu:\n  mehr\n\nda", "Ein längerer Text, der über die Zeile geht\nvier"]  # fmt: skip
    document = read_catalog("yml", RAILS.encode(), "de")
    written = document.write(new)
    wanted = RAILS
    for old, made in {
        "\nen:": "\nde:", "Hello %{name}  #": "Hallo  #", '"two\\n\\u00fc"': '"eins\\n\\"zwei\\""', "'it''s'": "'ist''s'", "[one, \"two\"": "[a, \"b: c\"",
        "a text that\n    goes on": "lang", "!!str three": "!!str drei", "one: a file": "one: '# x'", "'%{count} files'": "'so: %{count}'",
        "    First: line\n\n      indented": "    Neu:\n      mehr\n\n    da",
        "    One two\n    three\n\n    four": "    Ein längerer Text, der über die Zeile geht\n\n    vier",
    }.items():  # fmt: skip
        assert old in wanted
        wanted = wanted.replace(old, made)
    assert written.decode() == wanted
    assert reads_back(document, [NewText(text) for text in new], written)
    assert yaml.safe_load(written)["de"]["folded"] == f"{new[-1]}\n\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=11, max_size=11), st.booleans())
@settings(deadline=None, max_examples=30)
def test_any_text_reads_back(texts: list[str], crlf: bool) -> None:
    content = RAILS.replace("\n", "\r\n" if crlf else "\n").encode()
    document = read_catalog("yaml", content)
    new = [NewText(text) if text else None for text in texts]
    written = document.write(new)
    assert reads_back(document, new, written)
    found = yaml.safe_load(written)["en"]
    assert found["hello"] == (texts[0] or VALUES["hello"])
    assert found["list"][1] == (texts[4] or "two")
    assert found["day"] == "%d. %B %Y"


@given(st.text(alphabet="ab: -#'\"[],\n>|&é", min_size=1, max_size=30))
@settings(deadline=None)
def test_any_near_miss_of_yaml_reads_back(text: str) -> None:
    for content in (
        "x: y\nz: [u, v]",
        "- |\n  y\n\n- u\n- >-\n  x\n",
        "x:\n- >\n\n   y\n\n\n",
        "--- |\n y\n",
    ):
        document = read_catalog("yaml", content.encode())
        new = [NewText(text) for _ in document.segments]
        assert reads_back(document, new, document.write(new))


def test_symbols_in_brackets_are_read_as_ruby_reads_them() -> None:
    document = read_catalog("yml", b'order: [ :day, :month, a:b, {"x":1, "y":"z"}]')
    assert [(each.key, each.text) for each in document.segments] == [("order.2", "a:b"), ("order.3.y", "z")]


def test_a_file_without_a_language_keeps_its_keys() -> None:
    content = b"en: English\nde: German\n"
    document = read_catalog("yaml", content, "fr")
    assert document.write(["Anglais", "Allemand"]) == b"en: Anglais\nde: Allemand\n"
    assert document.source_language is None


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: b: c",
        "\t- x",
        "a: \x01",
        "[\n" * 600,
        "{a:\n" * 600,
        '"\\ud800',
        'a: "\\UFFFFFFFF"',
        "- " * 3_000,
    ],
)
def test_what_is_no_yaml_or_too_deep_is_an_error(text: str) -> None:
    with pytest.raises(DataError):
        read_catalog("yaml", text.encode())


def test_aliases_do_not_multiply() -> None:
    lines = ["a0: &a0 [one, two]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)]
    assert len(read_catalog("yaml", "\n".join(lines).encode()).segments) == 2
