from pathlib import Path

import pytest

from qkv.data.folder import find_parts
from qkv.errors import QkvError


def make(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_to_", "-")).write_text(text, encoding="utf-8")
    return folder


def test_two_plain_files_for_each_part(tmp_path: Path) -> None:
    make(
        tmp_path,
        train__en="a\nb\n", train__de="A\nB\n", val__en="c\n", val__de="C\n",
        test_2016_flickr__en="d\n", test_2016_flickr__de="D\n", test__en="e\n", test__de="E\n",
        train__fr="x\ny\n",
    )  # fmt: skip
    parts = find_parts(tmp_path, "en", "de")
    assert parts.train.read().source == ["a", "b"]
    assert parts.train.read().target == ["A", "B"]
    assert parts.valid is not None
    assert parts.valid.read().target == ["C"]
    assert {part.name: part.read().source for part in parts.tests} == {
        "test": ["e"],
        "test_2016_flickr": ["d"],
    }
    assert find_parts(tmp_path, "de", "en").train.read().source == ["A", "B"]
    assert find_parts(tmp_path, "en", "fr").valid is None  # it has no val.fr


def test_a_variant_is_read_only_on_request(tmp_path: Path) -> None:
    make(tmp_path, train__en="Raw\n", train__de="Roh\n", train__lc__en="raw\n", train__lc__de="roh\n")
    assert find_parts(tmp_path, "en", "de").train.read().source == ["Raw"]
    assert find_parts(tmp_path, "en", "de", "lc").train.read().source == ["raw"]


def test_one_file_with_both_sides_is_read_either_way_round(tmp_path: Path) -> None:
    make(tmp_path, train__eng_to_deu__tsv="cat\tKatze\n", dev__eng_to_deu__tsv="dog\tHund\n")
    straight, back = find_parts(tmp_path, "eng", "deu"), find_parts(tmp_path, "deu", "eng")
    assert straight.train.read().source == ["cat"]
    assert back.train.read().source == ["Katze"]
    assert back.valid is not None
    assert back.valid.read().target == ["dog"]


def test_a_file_name_without_languages_is_accepted(tmp_path: Path) -> None:
    make(tmp_path, train__tsv="cat\tKatze\n")
    assert find_parts(tmp_path, "en", "de").train.read().target == ["Katze"]


@pytest.mark.parametrize("name", ["trainer", "validity", "testing"])
def test_a_file_name_with_the_same_beginning_is_not_a_part(tmp_path: Path, name: str) -> None:
    make(tmp_path, train__en="a\n", train__de="A\n")
    make(tmp_path, **{f"{name}__en": "x\n", f"{name}__de": "X\n"})
    parts = find_parts(tmp_path, "en", "de")
    assert (parts.train.name, parts.valid, parts.tests) == ("train", None, ())


def test_a_bad_folder_gives_an_error_that_names_the_problem(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="not a folder"):
        find_parts(tmp_path / "absent", "en", "de")
    make(tmp_path, train__en="a\n")
    with pytest.raises(QkvError, match=r"neither train\.en and train\.de nor"):
        find_parts(tmp_path, "en", "de")
    make(tmp_path, train__de="A\n", train__en_to_de__tsv="a\tA\n")
    with pytest.raises(QkvError, match="several training parts"):
        find_parts(tmp_path, "en", "de")


@pytest.mark.parametrize("word", ["val", "valid", "validation", "dev", "dev2010"])
def test_a_validation_part_has_many_names(tmp_path: Path, word: str) -> None:
    make(tmp_path, train__en="a\n", train__de="A\n", **{f"{word}__en": "b\n", f"{word}__de": "B\n"})
    valid = find_parts(tmp_path, "en", "de").valid
    assert valid is not None
    assert valid.read().source == ["b"]


def test_two_files_for_one_part_raise_an_error(tmp_path: Path) -> None:
    make(
        tmp_path, train__en="a\n", train__de="A\n", val__en="b\n", val__de="B\n", dev__en="c\n", dev__de="C\n"
    )
    with pytest.raises(QkvError, match=r"several validation parts, dev\.en and val\.en"):
        find_parts(tmp_path, "en", "de")
    (tmp_path / "dev.en").unlink()
    make(tmp_path, test__en="b\n", test__de="B\n", test__en_to_de__tsv="b\tB\n")
    with pytest.raises(QkvError, match="several test parts"):
        find_parts(tmp_path, "en", "de")
