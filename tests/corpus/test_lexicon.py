"""The alignment score: translations score high, other pairs low."""

import random

import numpy as np
import pytest

from qkv.corpus.lexicon import Lexicon, chunks, learn_lexicon
from qkv.data.worlds import pairs


@pytest.fixture(scope="module")
def known() -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs("en", "de", 1_500, part="train")]


@pytest.fixture(scope="module")
def lexicon(known: list[tuple[str, str]]) -> Lexicon:
    return learn_lexicon(known)


def test_misaligned_pairs_score_visibly_lower(lexicon: Lexicon, known: list[tuple[str, str]]) -> None:
    true = lexicon.scores(known)
    moved = lexicon.scores(
        [(source, target) for (source, _), (_, target) in zip(known, known[7:] + known[:7], strict=True)]
    )
    assert np.percentile(true, 5) > np.percentile(moved, 90)
    assert np.mean(moved) < 0.3 < 1 < np.mean(true)


def test_a_score_does_not_depend_on_other_pairs(
    lexicon: Lexicon, known: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = lexicon.scores(known[:200])
    monkeypatch.setattr("qkv.corpus.lexicon.CELLS", 100)
    assert np.allclose(together, lexicon.scores(known[:200]), rtol=1e-12)
    assert np.allclose(together[17:19], lexicon.scores(known[17:19]), rtol=1e-12)


def test_a_pair_of_unknown_words_is_not_judged_unless_they_are_copied(lexicon: Lexicon) -> None:
    unknown, copied = lexicon.scores([("xyzzy plugh", "foo bar"), ("Szabolcs Fazakas", "Szabolcs Fazakas")])
    assert np.isnan(unknown)
    assert copied > 1


def test_nothing_and_empty_texts_are_scored_too(lexicon: Lexicon) -> None:
    assert lexicon.scores([]).shape == (0,)
    assert np.isnan(lexicon.scores([("", ""), ("the cat", "")])).all()
    assert learn_lexicon([]).scores([("a b c", "d e f")]).shape == (1,)


def test_entries_are_probabilities(lexicon: Lexicon) -> None:
    source_of = lexicon.keys // len(lexicon.target)
    sums = np.bincount(source_of, weights=lexicon.target_given_source[:-1])
    assert (sums < 1 + 1e-9).all()
    assert (np.diff(lexicon.keys) > 0).all()


def test_chunks_cover_all_pairs_in_order() -> None:
    generator = random.Random(1)
    sizes = np.cumsum([generator.randrange(0, 9_000_000) for _ in range(30)])
    found = chunks(sizes)
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == 30
