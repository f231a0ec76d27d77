"""Files to documents, the built-in ones, and what is held out."""

import gzip
from pathlib import Path

import pytest

from qkv.data.documents import Documents, hold_out_text, python_source, read_documents
from qkv.errors import QkvError


def test_each_file_is_a_document_and_each_line_of_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\n\u2028two\n".encode())
    (tmp_path / "b.jsonl").write_text('{"text": "three"}\n\n{"text": "four\\n", "more": 1}\n')
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress("fünf".encode()))
    found = read_documents([tmp_path / name for name in ("a.txt", "b.jsonl", "c.txt.gz")])
    assert found.texts == ["one\n\u2028two\n", "three", "four\n", "fünf"]
    assert found.origin == "a.txt, b.jsonl, c.txt.gz"


def test_names_in_capitals_and_line_ends_of_other_systems_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "A.JSONL").write_bytes(b'{"text": "one\\r\\ntwo"}\r\n{"text": "three"}\r\n')
    (tmp_path / "B.JSONL.GZ").write_bytes(gzip.compress(b'{"text": "four"}\n'))
    found = read_documents([tmp_path / "A.JSONL", tmp_path / "B.JSONL.GZ"])
    assert found.texts == ["one\ntwo", "three", "four"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b" \n", "is empty"),
        ("a.txt", b"fine\nf\xfcnf", r"not UTF-8 \(line 2\)"),
        ("a.jsonl", b'{"text": "fine"}\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", b'{"words": "fine"}\n', 'line 1 has no "text"'),
        ("a.jsonl", b'["fine"]\n', 'line 1 has no "text"'),
        ("a.jsonl", b'{"text": "fine"}\n{"text": "\\ud83d"}\n', "line 2 has half a character"),
        ("a.jsonl", b'{"text": ' + b"[" * 100_000, "line 1 is not JSON"),
        ("a.txt.gz", b"not zipped", "is not a gzip file"),
    ],
)
def test_a_bad_file_raises_an_error(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(QkvError, match=sentence):
        read_documents([tmp_path / name])


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="no file"):
        read_documents([tmp_path / "none.txt"])


def test_the_built_in_text_is_the_standard_library_without_its_tests() -> None:
    found = python_source()
    assert any(text.startswith('r"""HTTP/1.1 client library') for text in found.texts)
    assert found.characters > 5_000_000
    assert found.fingerprint() == python_source().fingerprint()


def test_source_files_with_invalid_utf8_and_tests_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "a.py").write_text("a test")
    (tmp_path / "b.py").write_bytes(b"\xfc")
    with pytest.raises(QkvError, match="give a text file"):
        python_source(tmp_path)
    (tmp_path / "c.py").write_text("source")
    assert python_source(tmp_path).texts == ["source"]


def test_of_one_document_its_end_is_held_out() -> None:
    train, valid = hold_out_text(Documents(texts=["0123456789" * 2], origin="x"), share=0.1, seed=1)
    assert (train.texts, valid.texts) == (["012345678901234567"], ["89"])


def test_of_many_documents_whole_ones_are_held_out_by_the_seed() -> None:
    texts = [f"document {number:02}" for number in range(40)]
    train, valid = hold_out_text(Documents(texts=texts, origin="x"), share=0.1, seed=1)
    assert len(valid) == 4
    assert sorted([*train.texts, *valid.texts]) == sorted(texts)
    assert valid.texts != hold_out_text(Documents(texts=texts, origin="x"), share=0.1, seed=2)[1].texts


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("longest", [30, 300, 30_000])
def test_no_more_is_held_out_than_a_share_of_the_characters(longest: int, seed: int) -> None:
    documents = Documents(texts=["short document " * 2] * 30 + ["x" * longest], origin="x")
    train, valid = hold_out_text(documents, share=0.1, seed=seed)
    assert 0.05 * documents.characters <= valid.characters <= 0.1 * documents.characters + len(documents)
    assert train.characters + valid.characters == documents.characters
    assert valid.texts == hold_out_text(documents, share=0.1, seed=seed)[1].texts


def test_of_documents_that_are_too_long_to_be_held_out_whole_the_end_of_each_is() -> None:
    documents = Documents(texts=["0123456789" * 20] * 12, origin="x")
    train, valid = hold_out_text(documents, share=0.05, seed=1)
    assert valid.texts == ["0123456789"] * 12
    assert train.texts == ["0123456789" * 19] * 12


def test_text_with_a_blank_end_raises_an_error() -> None:
    documents = Documents(texts=["a line of text\n" * 9 + "\n" * 400], origin="here")
    with pytest.raises(QkvError, match="held out for validation is blank"):
        hold_out_text(documents, 0.1, 1)
