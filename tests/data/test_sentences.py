"""Documents as lists of sentences."""

import sysconfig
from pathlib import Path

import pytest

from qkv.data.sentences import (
    Prose,
    all_sentences,
    documents_of,
    hold_out_prose,
    prose_sentences,
    python_prose,
    read_prose,
)
from qkv.errors import QkvError


def test_a_blank_line_ends_a_document_and_lines_are_sentences() -> None:
    text = "The cat sat.\nIt slept.\n\n  \nA dog barked!\nWhy?\n"
    assert list(documents_of(text)) == [["The cat sat.", "It slept."], ["A dog barked!", "Why?"]]


def test_lines_that_were_broken_to_fit_a_page_are_joined_first() -> None:
    text = "The cat sat on the\nmat. It slept there\nfor hours. Nobody cared."
    assert list(documents_of(text)) == [
        ["The cat sat on the mat.", "It slept there for hours.", "Nobody cared."]
    ]


def test_lines_without_letters_are_no_sentences() -> None:
    assert list(documents_of("-----\n\n* * *\n\nOne. Two.")) == [["One.", "Two."]]


def test_whole_documents_are_held_out_and_of_few_the_end(tmp_path: Path) -> None:
    many = Prose(documents=[[f"a {n}.", "b."] for n in range(40)], origin="here")
    train, valid = hold_out_prose(many, 0.1, seed=1)
    assert len(valid.documents) == 4
    assert sorted([*train.documents, *valid.documents]) == sorted(many.documents)
    few = Prose(documents=[[f"{n}." for n in range(20)]], origin="here")
    train, valid = hold_out_prose(few, 0.1, seed=1)
    assert train.documents[0] + valid.documents[0] == few.documents[0]
    assert len(valid.documents[0]) == 2


def prose(*lengths: int) -> Prose:
    """Documents of so many sentences each."""
    return Prose(
        documents=[[f"{place} {n}." for n in range(length)] for place, length in enumerate(lengths)],
        origin="here",
    )


@pytest.mark.parametrize(
    "lengths",
    [
        [1] * 60 + [2] * 12,  # among many: those with one sentence stay
        [1] * 11 + [200],  # a book and its mottos
        [1, 2, 30, 2],  # few: the short ones stay whole
        [3, 3],
        [2, 2, 1],
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_both_parts_have_a_next_sentence_and_no_sentence_is_lost(lengths: list[int], seed: int) -> None:
    whole = prose(*lengths)
    train, valid = hold_out_prose(whole, 0.05, seed)
    assert sorted([*all_sentences(train), *all_sentences(valid)]) == sorted(all_sentences(whole))
    assert all(len(document) > 1 for document in valid.documents)
    assert any(len(document) > 1 for document in train.documents)
    assert valid.origin == "the held-out part of here"


def test_documents_of_one_sentence_are_held_out_where_there_are_no_others() -> None:
    train, valid = hold_out_prose(prose(*[1] * 40), 0.1, seed=1)
    assert (len(train.documents), len(valid.documents)) == (36, 4)


def test_too_little_text_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="too few to hold some out"):
        hold_out_prose(Prose(documents=[["One.", "Two."]], origin="here"), 0.1, seed=1)
    (tmp_path / "a.txt").write_text("123\n456\n")
    with pytest.raises(QkvError, match="has no sentences"):
        read_prose([tmp_path / "a.txt"])


def test_examples_and_tables_are_left_out_of_help_texts() -> None:
    text = "Return the sum. It may be zero.\n\n>>> f(1)\n2\n\n   a  b\n   1  2\n\nThe end is near."
    assert prose_sentences(text) == ["Return the sum.", "It may be zero.", "The end is near."]


def test_python_itself_has_text_to_learn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    prose = python_prose()
    assert prose.sentences > 3_000
    assert all(len(document) > 1 for document in prose.documents)
    part = Path(sysconfig.get_paths()["stdlib"], "json")  # reading everything twice takes long
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(part)})
    assert python_prose().fingerprint() == python_prose().fingerprint() != prose.fingerprint()
