"""Shortlists: fitted from aligned pairs, stored in a bundle, bound to it by a hash."""

import json
from array import array
from pathlib import Path

import numpy as np
import pytest
from untrained_translators import WITHOUT

from qkv.checkpoint.bundle import CONFIG_FILE, HASHES, check_files
from qkv.errors import DataError
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.product import Translator
from qkv.families.translator.shortlist import SHORTLIST_FILE, Shortlist, fit_shortlist
from qkv.runtime.running import Running

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


# In a translator --------------------------------------------------------------------------------------------------

TEXTS = ["the cat danced", "my friends like tomatoes", "Tom and Mary are in Boston"]


@pytest.fixture(scope="module")
def listed() -> Translator:
    """An untrained translator on the engine, with a short list of four tokens for every source token."""
    translator = WITHOUT._running(Running())
    vocab = len(translator.tokenizer)
    tokens = np.random.default_rng(2).integers(100, vocab, 4 * vocab).tolist()
    offsets = array("i", range(0, 4 * vocab + 1, 4))
    short = Shortlist(offsets=offsets, tokens=array("i", tokens), always=array("i", [END]), loss=0.5)
    return translator._with_shortlist(short)


def test_a_bundle_keeps_its_shortlist(listed: Translator, tmp_path: Path) -> None:
    listed.save(tmp_path / "model")
    opened = Translator.load(tmp_path / "model")
    assert opened._shortlist == listed._shortlist
    assert opened.info()["shortlist"].endswith("0.50 BLEU lost")
    assert opened.translate(TEXTS, beam_size=1) == listed.translate(TEXTS, beam_size=1)


def test_every_runner_uses_the_shortlist_alike(listed: Translator) -> None:
    short = listed._shortlist
    for running in (Running(compute_type="float32"), Running(engine="torch", compute_type="float32")):
        other = listed._running(running)
        assert other._shortlist is short
        found = [row[0] for row in other._pipeline.hypotheses(TEXTS, TranslationOptions(beam_size=2))]
        free = other.translate(TEXTS, beam_size=2, shortlist=False)
        assert [each.text for each in found] == listed._running(Running(compute_type="float32")).translate(
            TEXTS, beam_size=2
        )
        assert free == WITHOUT._running(Running(compute_type="float32")).translate(TEXTS, beam_size=2)


def test_guarantees_hold_under_a_shortlist(listed: Translator) -> None:
    assert "Katze" in listed.translate("the cat danced", glossary={"cat": "Katze"})
    assert "{name}" in listed.translate("Tom and {name} are in Boston")
    assert listed.translate("the cat danced", prefix="die").startswith("die")
    assert "Boston" in listed.translate("the cat danced", contain=["Boston"])


def test_an_ensemble_does_not_use_the_shortlist_of_one_model(listed: Translator) -> None:
    free = listed._with_shortlist(None)
    assert listed.translate(TEXTS, ensemble=[free]) == free.translate(TEXTS, ensemble=[free])
