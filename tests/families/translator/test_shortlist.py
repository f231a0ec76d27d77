"""Shortlists: fitted from aligned pairs, stored in a bundle, bound to it by a hash."""

import json
from pathlib import Path

import numpy as np
import pytest

from qkv.checkpoint.bundle import CONFIG_FILE, HASHES, check_files
from qkv.errors import DataError
from qkv.families.translator.shortlist import SHORTLIST_FILE, Shortlist, fit_shortlist

VOCAB, END = 60, 2


def word_by_word(count: int = 400) -> list[tuple[list[int], list[int]]]:
    """Sources of tokens 10 … 29, each translated by the token 30 above it; token 3 is everywhere."""
    generator = np.random.default_rng(1)
    sources = [generator.integers(10, 30, size=generator.integers(2, 7)).tolist() for _ in range(count)]
    return [(source, [3, *(token + 30 for token in source)]) for source in sources]


@pytest.fixture(scope="module")
def shortlist() -> Shortlist:
    return fit_shortlist(word_by_word(), VOCAB, end=END, translations=2, frequent=1)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / CONFIG_FILE).write_text('{"format": 2, "kind": "translator"}')
    return tmp_path


def test_the_list_of_a_source_has_its_translations_and_what_is_always_needed(shortlist: Shortlist) -> None:
    for token in range(10, 30):
        assert {END, 3, token, token + 30} <= set(shortlist.ids([token]))
        assert len(shortlist.ids([token])) <= 5


def test_a_list_depends_on_the_set_of_source_tokens_alone(shortlist: Shortlist) -> None:
    assert shortlist.ids([12, 15]) == shortlist.ids([15, 12, 12])
    assert shortlist.ids([12, 15]) == sorted({*shortlist.ids([12]), *shortlist.ids([15])})


def test_a_source_token_without_translations_still_has_a_list(shortlist: Shortlist) -> None:
    assert shortlist.ids([59]) == [END, 3, 59]
    assert fit_shortlist([], VOCAB, end=END).ids([5]) == [END, 5]


def test_coverage_counts_the_target_tokens_on_the_list(shortlist: Shortlist) -> None:
    assert shortlist.coverage(word_by_word(50)) == 1
    assert shortlist.coverage([([10], [40, 59])]) == 0.5


def test_fitting_is_deterministic(shortlist: Shortlist) -> None:
    assert fit_shortlist(word_by_word(), VOCAB, end=END, translations=2, frequent=1) == shortlist


def test_a_saved_shortlist_is_read_back_and_bound_to_its_bundle(shortlist: Shortlist, bundle: Path) -> None:
    assert Shortlist.load(bundle, VOCAB) is None
    shortlist.save(bundle)
    shortlist.with_loss(0.25).save(bundle)  # replaces the first
    assert Shortlist.load(bundle, VOCAB) == shortlist.with_loss(0.25)
    hashes = json.loads((bundle / CONFIG_FILE).read_text())[HASHES]
    check_files(bundle, hashes)
    content = bytearray((bundle / SHORTLIST_FILE).read_bytes())
    content[-1] ^= 1
    (bundle / SHORTLIST_FILE).write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        check_files(bundle, hashes)


@pytest.mark.parametrize(
    "changed",
    [
        {"tokens": [VOCAB]},
        {"tokens": [-1]},
        {"always": []},
        {"offsets": [0] * (VOCAB + 2)},
        {"offsets": [1] * (VOCAB + 1)},
        {"offsets": [0, 2, *[1] * (VOCAB - 1)]},
    ],
)
def test_a_shortlist_that_leads_out_of_the_vocabulary_is_rejected(
    changed: dict[str, list[int]], bundle: Path
) -> None:
    from array import array

    good = {"offsets": [0] * VOCAB + [1], "tokens": [5], "always": [END]}
    arrays = {name: array("i", values) for name, values in {**good, **changed}.items()}
    Shortlist(**arrays).save(bundle)
    with pytest.raises(DataError, match="does not fit"):
        Shortlist.load(bundle, VOCAB)


@pytest.mark.parametrize("kept", [0, 7, 40, 300])
def test_a_truncated_shortlist_is_rejected(kept: int, shortlist: Shortlist, bundle: Path) -> None:
    shortlist.save(bundle)
    path = bundle / SHORTLIST_FILE
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match="damaged"):
        Shortlist.load(bundle, VOCAB)
