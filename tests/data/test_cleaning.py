"""Cleaning drops what cannot teach and counts it; holding out never lets a sentence stand on both sides."""

from pathlib import Path

import pytest

from qkv.data.cleaning import clean, count_duplicates, count_shared, hold_out
from qkv.data.parallel import ParallelText, read_pairs
from qkv.errors import QkvError

TATOEBA = Path(__file__).parents[2].parent / "shared" / "data" / "tatoeba" / "valid.eng-deu.tsv"


def text(*pairs: tuple[str, str]) -> ParallelText:
    return ParallelText(source=[source for source, _ in pairs], target=[target for _, target in pairs])


def numbered(count: int) -> ParallelText:
    return text(*((f"sentence {n}", f"Satz {n}") for n in range(count)))


def survives(source: str, target: str, *, longest: int = 500, ratio: float = 3.0) -> bool:
    anchor = ("anchor", "Anker")
    return len(clean(text(anchor, (source, target)), longest=longest, ratio=ratio).pairs) == 2


# Cleaning -------------------------------------------------------------------------------------------------


def test_each_dropped_pair_is_counted_once_under_the_first_reason() -> None:
    pairs = text(
        ("good", "gut"),
        ("", "leer"),
        ("\u3000\t ", "x" * 60),  # also too long and unequal
        ("x" * 51, "y"),  # also unequal
        ("x" * 40, "y" * 9),
    )
    cleaned = clean(pairs, longest=50, ratio=4.0)
    assert cleaned.pairs == text(("good", "gut"))
    assert list(cleaned.dropped.items()) == [("empty", 2), ("too long", 1), ("unequal lengths", 1)]


def test_reasons_that_never_applied_are_counted_as_zero() -> None:
    cleaned = clean(numbered(3), longest=50, ratio=3.0)
    assert list(cleaned.dropped.items()) == [("empty", 0), ("too long", 0), ("unequal lengths", 0)]


def test_whitespace_around_a_sentence_is_removed_and_inside_it_is_kept() -> None:
    cleaned = clean(text((" a  b\t", "\u00a0c\r")), longest=50, ratio=3.0)
    assert cleaned.pairs == text(("a  b", "c"))


def test_the_limits_themselves_are_still_allowed() -> None:
    assert survives("x" * 30, "y" * 10, longest=30)
    assert not survives("x" * 31, "y" * 20, longest=30)
    assert not survives("x" * 31, "y" * 10, longest=31)


def test_short_sentences_may_be_as_unequal_as_they_like() -> None:
    assert survives("OK", "In Ordnung")
    assert survives("In Ordnung", "OK")


@pytest.mark.parametrize(
    "translation",
    [
        "这只动物没有过马路，因为它太累了。",
        "その動物は疲れすぎていたので、通りを渡りませんでした。",
        "그 동물은 너무 피곤해서 길을 건너지 않았다.",
        "जानवर ने सड़क पार नहीं की क्योंकि वह बहुत थका हुआ था।",
        "สัตว์ตัวนั้นไม่ได้ข้ามถนนเพราะมันเหนื่อยเกินไป",
        "Животное не перешло улицу, потому что слишком устало.",
    ],
)
def test_other_scripts_are_neither_unequal_nor_too_long(translation: str) -> None:
    assert survives("The animal didn't cross the street because it was too tired.", translation, longest=70)


def test_a_real_mismatch_with_chinese_is_still_dropped() -> None:
    assert not survives("The animal didn't cross the street because it was too tired.", "动物。")


def test_if_no_pair_is_left_the_error_has_the_counts() -> None:
    with pytest.raises(QkvError, match=r"All 2 sentence pairs .*1 empty, 1 too long\)"):
        clean(text(("", "a"), ("x" * 99, "y" * 99)), longest=50, ratio=3.0)


def test_hardly_any_real_pair_is_dropped() -> None:
    if not TATOEBA.exists():
        pytest.skip(f"the shared data is not on this machine: {TATOEBA}")
    cleaned = clean(read_pairs(TATOEBA), longest=500, ratio=3.0)
    assert sum(cleaned.dropped.values()) <= 5
    assert len(cleaned.pairs) + sum(cleaned.dropped.values()) == 1378


# Holding out ----------------------------------------------------------------------------------------------


def test_training_and_validation_together_are_the_data_in_its_order() -> None:
    pairs = numbered(1000)
    train, valid = hold_out(pairs, size="50", seed=1)
    assert (len(train), len(valid)) == (950, 50)
    order = {source: position for position, source in enumerate(pairs.source)}
    for part in (train, valid):
        positions = [order[source] for source in part.source]
        assert positions == sorted(positions)
        assert [pairs.target[position] for position in positions] == part.target
    assert set(train.source) | set(valid.source) == set(pairs.source)


def test_a_source_sentence_never_stands_on_both_sides() -> None:
    pairs = text(*((f"sentence {n % 97}", f"Satz {n}") for n in range(1000)))
    train, valid = hold_out(pairs, size="100", seed=3)
    assert 80 <= len(valid) <= 100
    assert not set(train.source) & set(valid.source)


def test_the_split_depends_on_the_seed_and_on_nothing_else() -> None:
    pairs = numbered(500)
    backwards = ParallelText(source=pairs.source[::-1], target=pairs.target[::-1])
    first, again = hold_out(pairs, size="20", seed=1)[1], hold_out(backwards, size="20", seed=1)[1]
    assert sorted(first.source) == sorted(again.source)
    assert set(first.source) != set(hold_out(pairs, size="20", seed=2)[1].source)


def test_the_split_is_the_same_on_every_machine() -> None:
    # Computed by the definition: the two least blake2b hashes of "seed, newline, sentence".
    from hashlib import blake2b

    least = sorted(numbered(20).source, key=lambda s: blake2b(f"7\n{s}".encode(), digest_size=16).digest())[
        :2
    ]
    assert set(hold_out(numbered(20), size="2", seed=7)[1].source) == set(least)


def test_a_number_of_pairs_is_at_most_a_tenth_and_a_share_is_as_given() -> None:
    assert [len(part) for part in hold_out(numbered(59), size="1000", seed=1)] == [54, 5]
    assert [len(part) for part in hold_out(numbered(50), size="30%", seed=1)] == [35, 15]


def test_the_error_for_too_few_pairs_has_the_number_and_a_remedy() -> None:
    with pytest.raises(QkvError, match=r"9 different .* Give more, or validation data as `valid`"):
        hold_out(numbered(9), size="5", seed=1)
    assert len(hold_out(numbered(10), size="5", seed=1)[1]) == 1


def test_one_sentence_repeated_everywhere_cannot_be_held_out() -> None:
    with pytest.raises(QkvError, match="repeat the same few source sentences"):
        hold_out(text(*(("same", f"Satz {n}") for n in range(100))), size="5", seed=1)


def test_a_duplicate_pair_is_counted_and_held_out_once_and_never_trained_on() -> None:
    once = numbered(200)
    twice = ParallelText(source=once.source * 2, target=once.target * 2)
    assert (count_duplicates(once), count_duplicates(twice)) == (0, 200)
    train, valid = hold_out(twice, size="10", seed=1)
    assert valid == hold_out(once, size="10", seed=1)[1]
    assert (len(train), len(valid), count_shared(train, valid)) == (380, 10, 0)


def test_validation_pairs_that_training_shows_are_counted() -> None:
    assert (
        count_shared(numbered(5), text(("sentence 3", "Satz 3"), ("sentence 4", "anders"), ("neu", "neu")))
        == 1
    )


def test_sides_of_unequal_length_cannot_be_put_together() -> None:
    with pytest.raises(ValueError, match="2 source sentences but 1"):
        ParallelText(source=["a", "b"], target=["c"])
