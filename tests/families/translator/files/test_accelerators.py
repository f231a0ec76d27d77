"""Accelerators are taken out before translation and come back on a free letter."""

import pytest

from qkv.families.translator.files.accelerators import with_accelerator, without_accelerator


@pytest.mark.parametrize(
    ("text", "mark", "found"),
    [
        ("&File", "&", ("File", "f")),
        ("Save &As…", "&", ("Save As…", "a")),
        ("E_xit", "_", ("Exit", "x")),
        ("R && D", "&", None),
        ("&Find && replace", "&", ("Find && replace", "f")),
        ("a &amp; b", "&", None),
        ("&one &two", "&", None),
        ("50 % & more", "&", None),
    ],
)
def test_one_sign_before_a_letter_is_an_accelerator(
    text: str, mark: str, found: tuple[str, str] | None
) -> None:
    assert without_accelerator(text, mark) == found


@pytest.mark.parametrize(
    ("text", "letter", "taken", "wanted"),
    [
        ("Datei", "f", "", "&Datei"),
        ("Alles finden", "f", "", "Alles &finden"),
        ("Alles finden", "f", "fa", "A&lles finden"),
        ("Datei", "d", "d", "D&atei"),
        ("ab", "x", "ab", "&ab"),
        ("文件", "f", "", "文件(&F)"),
        ("打开…\tCtrl+O", "o", "", "打开(&O)…\tCtrl+O"),
        ("打开…", "o", "", "打开(&O)…"),
        ("Файл", "f", "", "&Файл"),
    ],
)
def test_the_letter_of_the_source_is_preferred_and_free_ones_are_found(
    text: str, letter: str, taken: str, wanted: str
) -> None:
    assert with_accelerator(text, "&", letter, set(taken))[0] == wanted
