"""Measures of classifiers, on numbers worked out by hand."""

import math

import pytest

from qkv.evaluation.classification import (
    accuracy,
    class_results,
    macro_f1,
    number_results,
    pearson,
    ranks,
    round_or_none,
    spearman,
)


def test_accuracy_is_the_share_that_is_right() -> None:
    assert accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"]) == 0.75


def test_a_rare_class_counts_as_much_as_a_common_one_in_macro_f1() -> None:
    # a: 2 right, claimed 2, real 3 -> 4/5;  b: 1 right, claimed 2, real 1 -> 2/3
    assert macro_f1(["a", "b", "b", "a"], ["a", "b", "a", "a"]) == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_ties_share_the_mean_of_their_ranks() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_pearson_is_one_on_a_line_and_spearman_on_any_rising_curve() -> None:
    x = [1.0, 2.0, 3.0, 4.0]
    curve = [math.exp(value) for value in x]
    assert pearson(x, [2 * value + 1 for value in x]) == pytest.approx(1.0)
    assert pearson(x, curve) < 0.95
    assert spearman(x, curve) == pytest.approx(1.0)
    assert spearman(x, curve[::-1]) == pytest.approx(-1.0)


def test_a_correlation_with_a_constant_is_undefined() -> None:
    assert math.isnan(pearson([1.0, 2.0], [3.0, 3.0]))
    assert round_or_none(pearson([1.0, 2.0], [3.0, 3.0])) is None
    assert round_or_none(pearson([1.0, 2.0], [3.0, 5.0])) == 1.0


def test_reports_of_all_families_write_the_same_scores_in_the_same_way() -> None:
    predicted, expected = ["a", "b", "b", "a"], ["a", "b", "a", "a"]
    found = class_results(predicted, expected)
    assert found == {"accuracy": "75.00 % of 4 examples", "macro F1": "73.33 %"}
    assert set(class_results(predicted, expected, macro=False)) == {"accuracy"}
    assert number_results([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == {
        "Pearson correlation": "1.0000 on 3 examples",
        "Spearman correlation": "1.0000",
    }
