"""Documents as lists of sentences."""

from pathlib import Path

import pytest

from qkv.data.sentences import Prose, documents_of, hold_out_prose, in_prose, python_prose, read_prose
from qkv.errors import UserError


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


def test_too_little_text_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="too few to hold some out"):
        hold_out_prose(Prose(documents=[["One.", "Two."]], origin="here"), 0.1, seed=1)
    (tmp_path / "a.txt").write_text("123\n456\n")
    with pytest.raises(UserError, match="no sentence with letters"):
        read_prose([tmp_path / "a.txt"])


def test_examples_and_tables_are_left_out_of_help_texts() -> None:
    text = "Return the sum. It may be zero.\n\n>>> f(1)\n2\n\n   a  b\n   1  2\n\nThe end is near."
    assert in_prose(text) == ["Return the sum.", "It may be zero.", "The end is near."]


def test_python_itself_has_text_to_learn_from() -> None:
    prose = python_prose()
    assert prose.sentences > 3_000
    assert all(len(document) > 1 for document in prose.documents)
    assert prose.fingerprint() == python_prose().fingerprint()
