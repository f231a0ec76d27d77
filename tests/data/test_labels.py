"""Label files: the layouts people have, and a sentence with the line for every fault."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qkv.data.labels import read_labelled
from qkv.errors import QkvError

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


REVIEWS = "a fine film\tgood\nno wit\tbad\n" * 3
SCORES = "A plane.\tA jet.\t4.2\nA cat.\tA dog.\t1.0\nA man.\tA boy.\t3.5\n"


@pytest.mark.parametrize(
    ("names", "rows", "columns"),
    [
        ("review\tsentiment", REVIEWS, ""),  # one name is known
        ("body\tsentiment", REVIEWS, ""),  # none is, and every other label comes several times
        ("body\tsentiment", REVIEWS, "1,2"),
        ("sentence1\tsentence2\tgold", SCORES, ""),
        ("one\tother\tgold", SCORES, ""),  # all others are numbers
        ("one\tother\tgold", SCORES, "1,2,3"),
    ],
)
def test_a_first_line_that_can_only_be_a_header_is_not_an_example(
    write: Write, names: str, rows: str, columns: str
) -> None:
    told: list[str] = []
    found = read_labelled(write(f"{names}\n{rows}"), columns, told.append)
    assert found.lines == list(range(2, 2 + rows.count("\n")))
    assert found.are_numbers() == (rows is SCORES)
    [line] = told
    assert "line 1 ('" in line
    assert "is read as a header" in line


@pytest.mark.parametrize(
    "rows",
    [
        "a fine film\tgood\n" + REVIEWS,  # its label is one of the others
        "a fine film\tsplendid\nno wit\tbad\nnot bad\tgood\n",  # every label comes once
        "a fine film\tsplendid\nno wit\tbad\ndull\tbad\n",  # a class that is needed
        "review\tnoun\ndance\tnoun\ndance\tverb\n",  # the text happens to be a known name
        "question\t2.85\nanswer\t3.1\n",
        "a film that " + "very " * 10 + "much is\tfine\n" + REVIEWS,  # nobody names a column like that
    ],
)
def test_a_first_line_that_may_be_an_example_is_one(write: Write, rows: str) -> None:
    told: list[str] = []
    assert read_labelled(write(rows), "", told.append).lines[0] == 1
    assert not told


def test_the_one_column_with_an_unknown_name_is_the_one_that_is_missing(write: Write) -> None:
    label_first = read_labelled(write("sentiment\treview\n1\tnice\n0\tdull\n"))
    assert (label_first.texts, label_first.labels) == (["nice", "dull"], ["1", "0"])
    text_last = read_labelled(write("label\tutterance\n1\tnice\n0\tdull\n"))
    assert (text_last.texts, text_last.labels) == (["nice", "dull"], ["1", "0"])


def test_two_known_texts_are_a_pair_in_the_order_of_their_columns(write: Write) -> None:
    qnli = read_labelled(write("index\tquestion\tsentence\tlabel\n0\tWho?\tHe did.\tentailment\n"))
    assert qnli.inputs == [("Who?", "He did.")]
    named = read_labelled(write("question\tquestion2\tlabel\nWho?\tWhat?\t0\n"))
    assert named.inputs == [("Who?", "What?")]


@pytest.mark.parametrize("odd", ["nan", "4,2", "N/A", "-"])
@pytest.mark.parametrize("line", [1, 4])
def test_one_typo_among_numbers_does_not_turn_them_into_classes(write: Write, odd: str, line: int) -> None:
    rows = [f"a {number}\t{number / 4}" for number in range(9)]
    rows.insert(line - 1, f"a\t{odd}")
    found = read_labelled(write("\n".join(rows)))
    assert len(found) == 10
    with pytest.raises(
        QkvError, match=rf"line {line}: the label '{odd}' is not a number, but nearly all others are"
    ):
        found.are_numbers()


def test_names_that_are_partly_numbers_are_classes(write: Write) -> None:
    assert not read_labelled(write("a\t1.0\nb\t2.0\nc\tbeta\nd\talpha\n")).are_numbers()
    assert not read_labelled(write("a\t0\nb\t1\nc\t2\nd\t3\ne\t4\nf\tnone\n")).are_numbers()


def test_three_columns_are_a_pair_and_its_label(write: Write) -> None:
    found = read_labelled(write("A plane.\tAn air plane.\t5.000\nA cat.\tA dog.\t1\n"))
    assert found.seconds == ["An air plane.", "A dog."]
    assert found.are_numbers()
    assert found.numbers() == [5.0, 1.0]


def test_whole_numbers_are_names_of_classes(write: Write) -> None:
    assert not read_labelled(write("a\t0\nb\t1\n")).are_numbers()


def test_columns_are_selected_by_number_or_name(write: Write) -> None:
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
        ("a\tb\tc\td\n", "", "no header names the text and the label: choose the columns"),
        ("a\tb\n", "1,4", "line 1 has 2 columns, but column 4 is needed"),
        ("a\tb\n", "0,1", "columns are counted from 1"),
        ("a\tb\n", "1", "two or three different columns"),
        ("a\tb\n", "1,1", "two or three different columns"),
        ("text\tlabel\na\tb\n", "body,label", "has no column 'body', only 'text', 'label'"),
        ("text\tlabel\n", "", "has a header but no examples"),
        (
            "id\ttext\tgold\n1\ta\tx\n2\tb\ty\n",
            "",
            "line 1 has the columns 'id', 'text', 'gold'.* choose the columns",
        ),
        ("text\treview\tcontent\tlabel\na\tb\tc\tx\n", "", "has 3 text columns, 'text', 'review', 'content'"),
        ("", "", "is empty"),
    ],
)
def test_an_error_names_its_line(write: Write, content: str, columns: str, says: str) -> None:
    with pytest.raises(QkvError, match=says):
        read_labelled(write(content), columns)


def test_a_label_that_the_model_does_not_know_is_named_with_its_line(write: Write) -> None:
    found = read_labelled(write("text\tlabel\na\tgood\nb\tawful\n"))
    with pytest.raises(QkvError, match=r"line 3: the label 'awful' is unknown; the model has 'bad', 'good'"):
        found.places(("bad", "good"))


def test_one_class_alone_and_a_word_among_numbers_are_rejected(write: Write) -> None:
    with pytest.raises(QkvError, match="every label is 'good'"):
        read_labelled(write("a\tgood\nb\tgood\n")).classes()
    with pytest.raises(QkvError, match="line 2: the label 'much' is not a number"):
        read_labelled(write("a\t1.5\nb\tmuch\n")).numbers()
    with pytest.raises(QkvError, match="line 1: 1e200 is too large"):
        read_labelled(write("a\t1e200\nb\t0.5\n")).numbers()


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
