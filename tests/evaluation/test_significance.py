"""A difference is called clear only if the test finds it significant."""

import random

import pytest

from qkv.evaluation.scores import Scorer, bootstrap
from qkv.evaluation.significance import Difference, compare

REFERENCES = [
    f"{who} {what} {where} today"
    for who in ("the old man", "a child", "my neighbour", "the dog", "every bird")
    for what in ("sings a song", "runs fast", "looks at me", "sleeps")
    for where in ("in the house", "near the river", "behind that tree", "there", "on a large red roof")
]


def with_faults(share: float, seed: int) -> list[str]:
    generator = random.Random(seed)
    return [
        " ".join(word if generator.random() > share else "wrong" for word in line.split())
        for line in REFERENCES
    ]


def differences(hypotheses: list[str], others: list[str], count: int | None = None) -> dict[str, Difference]:
    scorer, references = Scorer.make(), REFERENCES[:count]
    hypotheses, others = hypotheses[:count], others[:count]
    return compare(scorer, hypotheses, others, [references]).differences


def test_identical_systems_differ_by_nothing_and_not_significantly() -> None:
    same = with_faults(0.2, seed=1)
    for each in differences(same, list(same)).values():
        assert each.difference == 0
        assert each.p_value == 1.0
        assert not each.clear
        assert each.meaning("A", "B") == f"A and B have the same {each.measure}."


def test_a_much_better_system_differs_significantly_by_every_measure_in_both_directions() -> None:
    good, bad = with_faults(0.05, seed=1), with_faults(0.4, seed=2)
    for each in differences(good, bad).values():
        assert each.gain > 0
        assert each.p_value is not None
        assert each.p_value < 0.01
        assert each.meaning("A", "B").startswith(f"A is better than B by {abs(each.difference):.2f} ")
    for each in differences(bad, good).values():
        assert each.gain < 0
        assert each.meaning("A", "B").startswith(f"B is better than A by {abs(each.difference):.2f} ")


def test_equal_systems_differ_significantly_about_once_in_twenty() -> None:
    """By BLEU, over pairs of systems with faults at the same rate; the level of 0.05 would find six of these 80."""
    metric = Scorer.make().metrics()["bleu"]
    found = [
        bootstrap(metric, [with_faults(0.2, seed=2 * run), with_faults(0.2, seed=2 * run + 1)], [REFERENCES])[
            1
        ].p_value
        for run in range(80)
    ]
    clear = [Difference(measure="BLEU", model=2.0, against=1.0, p_value=p).clear for p in found]
    assert 1 <= sum(clear) <= 4


@pytest.mark.parametrize(("p_value", "clear"), [(0.024, True), (0.026, False), (None, False)])
def test_a_difference_is_clear_below_the_two_sided_level(p_value: float | None, clear: bool) -> None:
    assert Difference(measure="BLEU", model=2.0, against=1.0, p_value=p_value).clear is clear


def test_the_test_gives_the_same_p_twice() -> None:
    first, second = with_faults(0.2, seed=1), with_faults(0.22, seed=2)
    assert differences(first, second) == differences(first, second)


def test_few_sentences_get_no_p_value_and_the_sentence_says_why() -> None:
    for each in differences(with_faults(0.05, seed=1), with_faults(0.4, seed=2), 10).values():
        assert each.p_value is None
        assert not each.clear
        assert "too few to rule out chance" in each.meaning("A", "B")


@pytest.mark.parametrize(
    ("p_value", "sentence"),
    [
        (0.003, "A is better than B by 1.20 BLEU: if the two were equally good, a difference this large would occur by chance in about 3 of"),
        (1 / 1001, "a difference this large would occur by chance in at most 1 of 1,000 test sets."),
        (0.04, "A scores better than B by 1.20 BLEU, which may well be chance: if the two were equally good, a difference"),
    ],
)  # fmt: skip
def test_the_sentence_claims_what_the_test_shows(p_value: float, sentence: str) -> None:
    found = Difference(measure="BLEU", model=31.2, against=30.0, p_value=p_value)
    assert sentence in found.meaning("A", "B")


def test_less_ter_is_better() -> None:
    assert (
        Difference(measure="TER", model=40.0, against=50.0, p_value=0.01)
        .meaning("A", "B")
        .startswith("A is better")
    )


def test_a_comparison_gives_both_systems_the_scores_and_intervals_that_they_have_alone() -> None:
    first, second = with_faults(0.2, seed=1), with_faults(0.3, seed=2)
    scorer = Scorer.make()
    found = compare(scorer, first, second, [REFERENCES])
    for together, alone in (
        (found.scores, scorer.score_fully(first, REFERENCES)),
        (found.other_scores, scorer.score_fully(second, REFERENCES)),
    ):
        for measure in ("bleu", "chrf", "ter"):
            one, other = getattr(together, measure), getattr(alone, measure)
            assert (one.value, one.signature) == (other.value, other.signature)
            assert one.interval.low == pytest.approx(other.interval.low, abs=1e-3)
            assert one.interval.high == pytest.approx(other.interval.high, abs=1e-3)
        assert together.exact_match == alone.exact_match
