"""One rule decides how many examples are held out, and saved runs keep their split."""

from dataclasses import replace
from pathlib import Path

import pytest

from qkv.data.choices import Questions
from qkv.data.holding_out import count_to_hold_out, hold_out_examples, share_to_hold_out
from qkv.data.labelled_pictures import hold_out
from qkv.data.labels import read_labelled
from qkv.errors import DataError
from qkv.families.bert.labels_task import Examples
from qkv.families.bert.recipes import fine_tuning as bert_settings
from qkv.families.gpt.labels_task import read_labels
from qkv.families.gpt.recipes import fine_tuning as gpt_settings
from qkv.training.settings import size_rule


def questions(count: int) -> Questions:
    return Questions(inputs=[(f"{number}", "a", "b") for number in range(count)], right=[0] * count)


@pytest.mark.parametrize(
    ("size", "total", "count"),
    [("1000", 50_000, 1000), ("1000", 500, 50), ("3", 500, 3), ("1", 10, 1), ("30%", 50, 15), ("1%", 20, 1)],
)
def test_a_number_is_at_most_a_tenth_of_the_data_and_a_share_is_as_given(
    size: str, total: int, count: int
) -> None:
    assert count_to_hold_out(size, total) == count
    assert [len(part) for part in hold_out_examples(questions(total), size, 1)] == [total - count, count]
    assert [len(rows) for rows in hold_out(total, size, 1)] == [total - count, count]
    wanted = float(size[:-1]) / 100 if size.endswith("%") else count / total
    assert share_to_hold_out(size, total) == wanted


def test_the_rule_is_the_same_for_labels_of_bert_and_gpt(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"text {number}\t{'ab'[number % 2]}\n" for number in range(100)))
    bert = Examples.of(read_labelled(path), None, replace(bert_settings(100), valid_size="1000"))
    gpt = read_labels(path, None, "", replace(gpt_settings(100, width=32), valid_size="1000"))
    assert (len(bert.train), len(bert.valid)) == (len(gpt.train), len(gpt.valid)) == (90, 10)
    assert bert.valid.inputs == gpt.valid.inputs


def test_the_split_of_a_saved_run_stays_the_same() -> None:
    """As version 0.1 split them. A run that resumes with other examples would validate on what it has learned."""
    valid = [int(texts[0]) for texts in hold_out_examples(questions(30), "20%", 7)[1].inputs]
    assert valid == [5, 7, 15, 21, 28, 29]
    assert hold_out(30, "3", 1)[1] == [7, 16, 21]


def test_too_few_examples_are_an_error_in_every_family() -> None:
    with pytest.raises(DataError, match="9 examples are too few"):
        hold_out_examples(questions(9), "20%", 1)
    with pytest.raises(DataError, match="9 images are too few"):
        hold_out(9, "1", 1)


@pytest.mark.parametrize(
    ("size", "holds"), [("0", False), ("51%", False), ("x", False), ("1", True), ("50%", True)]
)
def test_a_size_is_a_number_or_a_share_of_at_most_a_half(size: str, holds: bool) -> None:
    assert size_rule(size)[2] == holds
