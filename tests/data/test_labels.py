"""Label files: the layouts people have, and a sentence with the line for every fault."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qkv.data.labels import read_labelled
from qkv.errors import UserError

Write = Callable[[str], Path]
DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: str) -> Path:
        path = tmp_path / "labels.tsv"
        path.write_text(content, encoding="utf-8")
        return path

    return written


def test_text_tab_label_needs_no_names(write: Write) -> None:
    found = read_labelled(write("a fine film\tgood\nno wit\tbad\n\n"))
    assert (found.texts, found.seconds, found.labels) == (["a fine film", "no wit"], None, ["good", "bad"])
    assert found.inputs == [("a fine film",), ("no wit",)]
    assert found.classes() == ("bad", "good")
    assert found.places(("bad", "good")) == [1, 0]


@pytest.mark.parametrize("names", ["label\tsentence", "Label\tContent"])
def test_a_line_of_names_says_which_column_is_which(write: Write, names: str) -> None:
    found = read_labelled(write(f"{names}\n0\tno wit\n1\ta fine film\n"))
    assert (found.texts, found.labels, found.lines) == (["no wit", "a fine film"], ["0", "1"], [2, 3])


def test_three_columns_are_a_pair_and_its_label(write: Write) -> None:
    found = read_labelled(write("A plane.\tAn air plane.\t5.000\nA cat.\tA dog.\t1\n"))
    assert found.seconds == ["An air plane.", "A dog."]
    assert found.are_numbers()
    assert found.numbers() == [5.0, 1.0]


def test_whole_numbers_are_names_of_classes(write: Write) -> None:
    assert not read_labelled(write("a\t0\nb\t1\n")).are_numbers()


def test_columns_can_be_told_by_numbers_and_by_names(write: Write) -> None:
    by_number = read_labelled(write("x\t5.0\tA plane.\tAn air plane.\nx\t1.5\tA\tB\tmore\n"), "3,4,2")
    assert by_number.inputs == [("A plane.", "An air plane."), ("A", "B")]
    by_name = read_labelled(write("stars\tbody\n3\tnice\n1\tbad\n"), "body,stars")
    assert (by_name.texts, by_name.labels) == (["nice", "bad"], ["3", "1"])


@pytest.mark.parametrize(
    ("content", "columns", "says"),
    [
        ("a\tgood\nb\t\n", "", "line 2 has no label"),
        ("a\tgood\n\tbad\n", "", "line 2 has no text"),
        ("a\tgood\nb\tx\tbad\n", "", "line 2 has 3 columns, but the first line has 2"),
        ("a good film\n", "", "line 1 has no tab"),
        ("a\tb\tc\td\n", "", "say which to read by --columns"),
        ("a\tb\n", "1,4", "line 1 has 2 columns, but column 4 is to be read"),
        ("a\tb\n", "0,1", "counts from 1"),
        ("a\tb\n", "1", "two or three different columns"),
        ("a\tb\n", "1,1", "two or three different columns"),
        ("text\tlabel\na\tb\n", "body,label", "names no column 'body', but 'text', 'label'"),
        ("text\tlabel\n", "", "holds a line of names and no examples"),
        ("", "", "is empty"),
    ],
)
def test_a_fault_is_a_sentence_with_its_line(write: Write, content: str, columns: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_labelled(write(content), columns)


def test_a_label_that_the_model_does_not_know_is_named_with_its_line(write: Write) -> None:
    found = read_labelled(write("text\tlabel\na\tgood\nb\tawful\n"))
    with pytest.raises(UserError, match=r"line 3: the label 'awful' is new; the model knows 'bad', 'good'"):
        found.places(("bad", "good"))


def test_one_class_alone_and_a_word_among_numbers_are_refused(write: Write) -> None:
    with pytest.raises(UserError, match="every label is 'good'"):
        read_labelled(write("a\tgood\nb\tgood\n")).classes()
    with pytest.raises(UserError, match="line 2: the label 'much' is not a number"):
        read_labelled(write("a\t1.5\nb\tmuch\n")).numbers()


def test_the_fingerprint_changes_with_text_and_label(write: Write) -> None:
    prints = {
        read_labelled(write(text)).fingerprint() for text in ("a\tx\n", "a\ty\n", "b\tx\n", "b\tz\tx\n")
    }
    assert len(prints) == 4


def test_sst2_and_stsb_are_read_as_they_are() -> None:
    if not DATA.is_dir():
        pytest.skip("the shared data (sst2, sts-b) is not on this machine")
    assert len(read_labelled(DATA / "sst2" / "dev.tsv")) == 872
    pairs = read_labelled(DATA / "sts-b" / "sts-dev.csv", "6,7,5")
    assert len(pairs) == 1500
    assert pairs.seconds is not None
    assert 0 <= min(pairs.numbers()) < max(pairs.numbers()) <= 5
