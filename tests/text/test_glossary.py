"""A glossary: which terms a text has, and files that make no sense."""

from pathlib import Path

import pytest

from qkv.errors import QkvError
from qkv.text.glossary import Glossary

TERMS = Glossary.of([("cat", "Katze"), ("black cat", "schwarze Katze"), ("Straße", "street"), ("C++", "C++")])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the cat", ["Katze"]),
        ("The CAT, the dog.", ["Katze"]),
        ("concatenate the cats", []),
        ("a black cat and a cat", ["schwarze Katze", "Katze"]),
        ("cat and cat", ["Katze"]),
        ("eine straße", ["street"]),
        ("C++ is not C", ["C++"]),
        ("", []),
    ],
)
def test_terms_are_whole_words_of_any_case_and_longer_ones_come_first(text: str, wanted: list[str]) -> None:
    found = TERMS.required_phrases(text)
    assert sorted(found, key=lambda target: found[target]) == wanted
    for source, target in TERMS.terms:
        if target in found:
            assert {text[start:end].lower() for start, end in found[target]} == {source.lower()}


def test_a_file_has_a_term_and_its_translation_on_every_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("\ufeff# a comment\ncat\tKatze\n\nhot dog \t Hot Dog\n", encoding="utf-8")
    assert Glossary.read(path) == Glossary.of([("cat", "Katze"), ("hot dog", "Hot Dog")])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("cat Katze\n", "line 1: expected a source term, a tab and its translation"),
        ("dog\tHund\ncat\t\n", "line 2: expected a source term"),
        ("a\tb\tc\n", "line 1: expected a source term"),
        ("cat\tKatze\nCat\tKater\n", "line 2: 'Cat' has two translations, 'Katze' and 'Kater'"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(content: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(QkvError, match=sentence):
        Glossary.read(path)


def test_a_missing_or_binary_glossary_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="there is no glossary"):
        Glossary.read(tmp_path / "none.tsv")
    (tmp_path / "latin1.tsv").write_bytes("größe\tsize\n".encode("latin1"))
    with pytest.raises(QkvError, match="must be text in UTF-8"):
        Glossary.read(tmp_path / "latin1.tsv")


def test_letters_that_are_alike_only_without_case_find_their_term() -> None:
    glossary = Glossary.of([("istanbul", "Konstantinopel"), ("s", "S.")])
    assert list(glossary.required_phrases("İstanbul, ſ")) == ["Konstantinopel", "S."]
