"""Filters that look at one pair: what each drops, and what it must not."""

from dataclasses import replace

import pytest

from qkv.corpus.filters import Pair, first_filter, in_script, numbers, script_of
from qkv.corpus.language import LanguageFilter, known_code
from qkv.corpus.settings import CleanSettings, check_clean
from qkv.errors import QkvError

DROPPED = {
    "empty": ("", "Hallo"),
    "too short": ("a", "b"),
    "too long": ("word " * 201, "Wort " * 201),
    "unequal lengths": ("It works.", "Das funktioniert nach Angaben des Herstellers schon seit Jahren."),
    "broken characters": ("The house is big.", "Das ist ein groÃŸes Haus."),
    "address only": ("https://example.org/a/b", "https://example.org/de/a/b"),
    "few letters": ("--- 12.5 / 13.7 ---", "--- 12,5 / 13,7 ---"),
    "markup": ("Click <b>Save</b> now.", "Klicken Sie jetzt auf Speichern."),
    "copied": (
        "This sentence was never translated by anyone",
        "this sentence was never translated by anyone.",
    ),
    "numbers differ": ("It was 1999, page 250.", "Das war 2003 auf Seite 17."),
}
KEPT = [
    ("OK", "In Ordnung"),
    ("Yes.", "Das stimmt genau."),
    ("SQL Server 2017 (14.x)", "SQL Server 2017 (14.x)-Version"),
    ("New York", "New York City"),
    ("See https://example.org for details.", "Siehe https://example.org für Einzelheiten."),
    ("Click <a href='en'>here</a>.", "Klicken Sie <a href='de'>hier</a>."),
    ("It cost 1,250.50 euros.", "Es kostete 1.250,50 Euro."),
    ("Chapter 3 has two parts.", "Kapitel drei hat 2 Teile."),
    ("She said: “Naïve!”", "Sie sagte: »Naiv!«"),
    ("A déjà vu", "Ein Déjà-vu"),
]


@pytest.mark.parametrize("reason", DROPPED)
def test_each_filter_drops_its_kind_of_pair(reason: str) -> None:
    assert first_filter(Pair(*DROPPED[reason]), CleanSettings()) == reason


@pytest.mark.parametrize("pair", KEPT)
def test_an_ordinary_pair_is_kept(pair: tuple[str, str]) -> None:
    assert first_filter(Pair(*pair), CleanSettings()) is None


@pytest.mark.parametrize(
    ("settings", "pair", "reason"),
    [
        ({"max_words": 3}, ("one two three four", "eins zwei drei"), "too long"),
        ({"markup": "drop"}, ("<b>Save</b> it", "<b>Speichern</b>"), "markup"),
        ({"markup": "keep"}, DROPPED["markup"], None),
        ({"max_numbers": 2}, DROPPED["numbers differ"], None),
        ({"max_ratio": 10}, DROPPED["unequal lengths"], None),
    ],
)
def test_a_setting_moves_the_limit(
    settings: dict[str, object], pair: tuple[str, str], reason: str | None
) -> None:
    assert first_filter(Pair(*pair), replace(CleanSettings(), **settings)) == reason


def test_numbers_are_compared_without_separators_and_from_two_digits_on() -> None:
    assert numbers("1,250.50, 12:30 and 7 of 1 000 000") == ["125050", "1230", "1000000"]


def test_the_script_of_a_language_is_that_of_most_letters() -> None:
    assert script_of("en-US") == script_of("deu") == "Latin"
    assert script_of("xx") is None
    assert in_script("Größe Ω", "Latin", 0.7)
    assert in_script("2011", "Latin", 0.7)
    assert not in_script("Κύριε Πρόεδρε", "Latin", 0.7)
    assert in_script("Компьютер PC", "Cyrillic", 0.7)
    assert in_script("これは本です", "Japanese", 0.7)
    assert not in_script("これは本です", "Chinese", 0.7)


def test_a_text_in_another_language_is_found_and_a_short_one_is_not_judged() -> None:
    languages = LanguageFilter("en", "de", 0.8)
    english, german = "This is the proposal of the committee.", "Das ist der Vorschlag des Ausschusses."
    italian = "Questa è la proposta della commissione parlamentare."
    assert not languages.drops(english, german)
    assert languages.drops(english, italian)
    assert languages.drops(german, english)
    assert not languages.drops("Ciao Tom!", "Ciao Tom!")


def test_a_language_is_known_by_any_of_its_tags() -> None:
    assert [known_code(tag) for tag in ("en", "EN-us", "deu", "pt_BR", "nb", "tlh", None)] == [
        "en", "en", "de", "pt", "no", None, None,
    ]  # fmt: skip


def test_a_setting_out_of_range_is_named() -> None:
    with pytest.raises(QkvError, match="max_ratio must be at least 1; near_duplicates must be in"):
        check_clean(CleanSettings(max_ratio=0.5, near_duplicates=2))
