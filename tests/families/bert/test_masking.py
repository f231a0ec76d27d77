"""What BERT is trained on: pairs whose second part follows or is a stranger, and words that are hidden."""

import random
from collections import Counter

import pytest

from qkv.families.bert.masking import Document, concatenate, mask_tokens, pairs_of, passages_of, truncate_pair
from qkv.families.bert.settings import MaskingSettings

SPECIAL = frozenset(range(5))
MASK = 4
VOCAB = 1_000
CONTINUES = [number % 3 == 0 and number > 4 for number in range(VOCAB)]


def documents(count: int = 30, sentences: int = 8) -> list[Document]:
    """Sentences of four ids whose document and number can be read off them."""
    return [
        [[1_000 * d + 10 * s + i for i in range(4)] for s in range(sentences)] for d in range(1, count + 1)
    ]


def test_a_second_part_follows_or_comes_from_another_document() -> None:
    for pair in pairs_of(documents(), 24, random.Random(1)):
        same = pair.first[-1] // 1_000 == pair.second[0] // 1_000
        assert same == pair.follows
        if pair.follows:
            assert pair.second[0] // 10 == pair.first[-1] // 10 + 1


def test_about_half_of_the_second_parts_follow() -> None:
    pairs = pairs_of(documents(200), 24, random.Random(2))
    assert 0.35 < sum(pair.follows for pair in pairs) / len(pairs) < 0.55


def test_every_sentence_is_read_and_nothing_is_longer_than_the_room() -> None:
    given = documents()
    pairs = pairs_of(given, 24, random.Random(3))
    assert all(pair.first and pair.second and len(pair.first) + len(pair.second) <= 24 for pair in pairs)
    read = {number for pair in pairs for number in (*pair.first, *pair.second)}
    missing = [s for document in given for s in document if s[0] not in read and s[-1] not in read]
    assert len(missing) < 0.1 * 30 * 8  # some are cut off where two parts are too long together


def test_with_one_document_random_second_parts_come_from_elsewhere_in_it() -> None:
    pairs = pairs_of(documents(1, 40), 24, random.Random(4))
    assert {pair.follows for pair in pairs} == {True, False}
    for pair in pairs:
        follows = pair.second[0] // 10 == pair.first[-1] // 10 + 1
        assert follows == pair.follows


def test_pairs_depend_on_the_seed_alone() -> None:
    first, again, other = (pairs_of(documents(), 24, random.Random(seed)) for seed in (5, 5, 6))
    assert first == again != other


@pytest.mark.parametrize(("first", "second"), [(20, 3), (3, 20), (11, 12), (30, 30), (1, 40), (40, 1)])
def test_what_does_not_fit_is_cut_at_the_outer_ends(first: int, second: int) -> None:
    a, b = list(range(first)), list(range(100, 100 + second))
    left, right = truncate_pair(a, b, 16)
    assert len(left) + len(right) == min(16, first + second)
    assert left
    assert left == a[-len(left) :]
    assert right
    assert right == b[: len(right)]


def test_without_a_next_sentence_all_text_is_read_in_runs() -> None:
    given = documents()
    runs = passages_of(given, 24, random.Random(7))
    assert sorted(concatenate(runs)) == sorted(
        number for document in given for number in concatenate(document)
    )
    assert max(map(len, runs)) <= 24


def test_fifteen_percent_are_hidden_and_eighty_ten_ten_of_them() -> None:
    generator, kinds, total = random.Random(8), Counter[str](), 0
    for _ in range(400):
        ids = [2, *(generator.randrange(5, VOCAB) for _ in range(100)), 3]
        hidden = mask_tokens(ids, SPECIAL, CONTINUES, MASK, MaskingSettings(), generator)
        assert hidden.words == [ids[place] for place in hidden.places]
        assert all(hidden.ids[p] == ids[p] for p in range(len(ids)) if p not in hidden.places)
        assert not {0, 101} & set(hidden.places)  # the special ones are never hidden
        for place, word in zip(hidden.places, hidden.words, strict=True):
            now = hidden.ids[place]
            kinds["mask" if now == MASK else "same" if now == word else "other"] += 1
        total += 100
    assert sum(kinds.values()) == pytest.approx(0.15 * total)
    for kind, share in (("mask", 0.8), ("other", 0.1), ("same", 0.1)):
        assert kinds[kind] / sum(kinds.values()) == pytest.approx(share, abs=0.02)


def test_whole_words_are_hidden_together() -> None:
    generator = random.Random(9)
    for _ in range(50):
        ids = [generator.randrange(5, VOCAB) for _ in range(80)]
        hidden = mask_tokens(
            ids, SPECIAL, CONTINUES, MASK, MaskingSettings(whole_word_masking=True), generator
        )
        chosen = set(hidden.places)
        for place in range(1, len(ids)):
            if CONTINUES[ids[place]]:
                assert (place in chosen) == (place - 1 in chosen)


def test_one_word_at_least_is_hidden() -> None:
    hidden = mask_tokens([2, 7, 3], SPECIAL, CONTINUES, MASK, MaskingSettings(), random.Random(10))
    assert hidden.places == [1]
