"""The page of a report on image models."""

from qkv.evaluation.picture_report import score_lines


def test_scores_are_in_columns_and_unknown_values_are_left_out() -> None:
    scores = {
        "part": "test",
        "captions": 1000,
        "how": {"seed": 1, "temperature": None},
        "seen": {"attributes": 0.9},
    }
    assert list(score_lines(scores)) == [
        "part      test",
        "captions  1,000",
        "how",
        "  seed  1",
        "seen",
        "  attributes  0.9000",
    ]
