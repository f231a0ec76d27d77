"""Data of Python programs reach the readers unchanged, and errors name the element."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from qkv.data.captioned import read_captioned, read_plain
from qkv.data.choices import read_questions
from qkv.data.documents import read_documents
from qkv.data.labelled_pictures import read_image_folder
from qkv.data.labels import read_labelled
from qkv.data.pair_columns import PairColumns
from qkv.data.parallel import read_pairs
from qkv.data.python_images import write_captioned, write_classes, write_images
from qkv.data.python_texts import LabelColumns, write_labelled, write_pairs, write_texts
from qkv.errors import DataError, InputError, InputTypeError

SOURCES = ["a\tb", 'he said "no"', "", "🙂 naïve", "back\\slash", "\u2028 separator"]
TARGETS = ["ä\tö", "'x'", "leer", "🙃", "\\n", "Ende"]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


class Frame:
    """A table as pandas and polars have it: names, and a column for each."""

    def __init__(self, columns: dict[str, list[Any]]):
        self.data, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self.data[name]


class ClassLabel:
    names = ("bad", "good")


class DataSet:
    """A data set as `datasets` has it: names, features, and rows that are dictionaries."""

    features: ClassVar[dict[str, Any]] = {"label": ClassLabel()}

    def __init__(self, rows: list[dict[str, Any]]):
        self.rows, self.column_names = rows, list(rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


def nested(source: str, target: str) -> dict[str, Any]:
    return {"id": "7", "translation": {"de": target, "en": source}}


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (PAIRS, {}),
        (iter(PAIRS), {}),
        ([list(pair) for pair in PAIRS], {}),
        (np.array(PAIRS, dtype=object), {}),
        ([{"en": source, "de": target} for source, target in PAIRS], {"source_language": "en"}),
        (Frame({"german": TARGETS, "english": SOURCES}), {"source_language": "en", "target_language": "de"}),
        (
            Frame({"id": [1] * 6, "deu": TARGETS, "eng": SOURCES}),
            {"source_language": "en", "target_language": "de"},
        ),
        (
            Frame({"text_de": TARGETS, "en_text": SOURCES}),
            {"source_language": "English", "target_language": "ger"},
        ),
        (Frame({"tgt": TARGETS, "n": [1] * 6, "src": SOURCES}), {"source_language": "en"}),
        ([{"de": t, "en": s} for s, t in PAIRS], {"source_language": "en", "target_language": "de"}),
        ({"source": SOURCES, "target": iter(TARGETS)}, {}),
        (
            Frame({"n": [1] * 6, "English": SOURCES, "German": TARGETS}),
            {"source": "English", "target": "German"},
        ),
        (DataSet([nested(*pair) for pair in PAIRS]), {"source_language": "en", "target_language": "de"}),
    ],
)
def test_pairs_are_read_back_as_they_were(tmp_path: Path, data: Any, columns: dict[str, str]) -> None:
    write_pairs(tmp_path / "pairs.jsonl", data, "pairs", PairColumns(**columns))
    read = read_pairs(tmp_path / "pairs.jsonl")
    # A reader of pairs strips sentences: they never contain line breaks.
    assert read.source == [text.strip() for text in SOURCES]
    assert read.target == TARGETS


def test_columns_that_are_languages_name_the_languages(tmp_path: Path) -> None:
    rows = [{"en": "a", "pt_BR": "b"}]
    found = write_pairs(tmp_path / "a.jsonl", rows, "pairs", PairColumns(target="pt_BR"))
    assert (found.source_language, found.target_language) == ("en", "pt-br")
    rows = [{"question": "a", "answer": "b"}]
    found = write_pairs(tmp_path / "b.jsonl", rows, "pairs", PairColumns(source="question"))
    assert (found.source_language, found.target_language) == (None, None)


@pytest.mark.parametrize(
    ("names", "columns", "advice"),
    [
        (["de", "en"], {}, "Choose the direction, for example source_language='de', target_language='en'."),
        (["id", "german", "en"], {}, "Choose the direction, for example source_language='de', target_language='en'."),
        (["question", "answer"], {}, "Choose the source_column and the target_column."),
        (["fr", "de"], {"source_language": "en", "target_language": "de"}, "Choose the source_column and the target_column."),
        (["en_a", "en_b", "de"], {"source_language": "en", "target_language": "de"}, "Choose the source_column and the target_column."),
    ],
)  # fmt: skip
def test_the_direction_is_never_guessed_from_the_order_of_columns(
    tmp_path: Path, names: list[str], columns: dict[str, str], advice: str
) -> None:
    with pytest.raises(InputError) as caught:
        write_pairs(
            tmp_path / "pairs.jsonl", Frame({name: ["x"] for name in names}), "pairs", PairColumns(**columns)
        )
    assert str(caught.value) == f"pairs has the columns {', '.join(map(repr, names))}. {advice}"


def broken() -> Iterator[tuple[str, str]]:
    yield "a", "b"
    raise ZeroDivisionError("in the generator")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        ([("a", "b")] * 17 + [("a", "b", "c")], InputError, "pairs[17] has 3 items; expected a source and a target."),
        ([("a", "b"), None], InputTypeError, "pairs[1] is None; expected a source and a target."),
        (["ab"], InputTypeError, "pairs[0] is str; expected a source and a target."),
        ([("a", None)], InputTypeError, "pairs[0][1] is None; expected str."),
        ([("a", float("nan"))], InputTypeError, "pairs[0][1] is nan; expected str."),
        ([("a\ud800", "b")], InputError, "pairs[0][0] has half a character (a lone surrogate). Correct it."),
        ([], InputError, "pairs is empty. Give some data."),
        (7, InputTypeError, "pairs is int; expected a list, an iterator, a table or a file."),
        (None, InputTypeError, "pairs is None; expected a list, an iterator, a table or a file."),
        ([{"source": "a", "target": "b"}, {"source": "a"}], InputError, "pairs[1] has no 'target', only 'source'."),
        (
            {"source": ["a", "b"], "target": ["c"]},
            InputError,
            "the columns of pairs have different lengths: 'target' ends first.",
        ),
        (
            Frame({"a": ["x"], "b": ["y"], "c": ["z"]}),
            InputError,
            "pairs has the columns 'a', 'b', 'c'. Choose the source_column and the target_column.",
        ),
        (
            {"train": DataSet([{"en": "a", "de": "b"}]), "test": DataSet([{"en": "a", "de": "b"}])},
            InputError,
            "pairs has several parts, 'train', 'test'. Give one of them, such as pairs['train'].",
        ),
        (broken(), ZeroDivisionError, "in the generator"),
    ],
)  # fmt: skip
def test_an_error_in_pairs_names_the_element(
    tmp_path: Path, data: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        write_pairs(tmp_path / "pairs.jsonl", data, "pairs", PairColumns())
    assert str(caught.value) == message


def test_a_missing_column_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    frame = Frame({"sentence_en": ["x"], "sentence_de": ["y"], "id": [1]})
    with pytest.raises(InputError) as caught:
        write_pairs(tmp_path / "pairs.jsonl", frame, "pairs", PairColumns(source="sentence_em", target="id"))
    assert str(caught.value) == "pairs has no column 'sentence_em'. Did you mean 'sentence_en'?"


def test_texts_are_read_back_as_they_were(tmp_path: Path) -> None:
    texts = ["one\ntwo\n\nthree\t🙂", " spaces ", "x"]
    for data in (
        texts,
        (text for text in texts),
        {"text": texts},
        Frame({"id": [1, 2, 3], "content": texts}),
    ):
        write_texts(tmp_path / "text.jsonl", data, "text", None)
        assert read_documents([tmp_path / "text.jsonl"]).texts == texts


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", None], "text[1] is None; expected str."),
        (["a", " \n"], "text[1] is blank. Write a text, or leave it out."),
        ([{"a": "x", "b": "y"}], "text has the columns 'a', 'b'. Choose the text_column."),
    ],
)
def test_an_error_in_texts_names_the_element(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        write_texts(tmp_path / "text.jsonl", data, "text", None)
    assert str(caught.value) == message


def test_names_of_files_are_not_taken_for_texts(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("words")
    with pytest.raises(
        InputError, match=r"text\[0\] is the name of a file. To read files, give pathlib.Path"
    ):
        write_texts(tmp_path / "text.jsonl", [str(tmp_path / "book.txt")], "text", None)


@pytest.mark.parametrize(
    ("data", "texts", "labels"),
    [
        ([("a\tb", "good"), ("c\nd", "bad")], [("a\tb",), ("c\nd",)], ["good", "bad"]),
        ([("a", "b", 1.5), ("c", "d", np.float64(2))], [("a", "b"), ("c", "d")], ["1.5", "2.0"]),
        (DataSet([{"text": "a", "label": 0}, {"text": "b", "label": 1}]), [("a",), ("b",)], ["bad", "good"]),
        ({"review": ["a", "b"], "label": np.array([3, 4])}, [("a",), ("b",)], ["3", "4"]),
        (Frame({"premise": ["a"], "hypothesis": ["b"], "label": [True]}), [("a", "b")], ["True"]),
    ],
)
def test_labelled_texts_are_read_back_as_they_were(
    tmp_path: Path, data: Any, texts: list[tuple[str, ...]], labels: list[str]
) -> None:
    write_labelled(tmp_path / "labels.jsonl", data, "labels", LabelColumns())
    read = read_labelled(tmp_path / "labels.jsonl")
    assert (read.inputs, read.labels) == (texts, labels)


def test_questions_are_read_back_as_they_were(tmp_path: Path) -> None:
    rows = [("Who?\tWho?", "me", "you", 1), ("Why?", "so", "not\nso", 2)]
    write_labelled(tmp_path / "labels.jsonl", rows, "labels", LabelColumns(), choice=True)
    read = read_questions(tmp_path / "labels.jsonl")
    assert (read.inputs, read.right) == ([row[:3] for row in rows], [0, 1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a",), "labels[1] has 1 item; expected one or two texts and a label."),
        ("ab", "labels[1] is str; expected a text and a label."),
        (("a", None), "labels[1][1] is None; expected a label: str, int or float."),
        (("a", float("nan")), "labels[1][1] is nan; expected a label."),
        (("", "x"), "labels[1] is blank. Write a text, or leave it out."),
    ],
)
def test_an_error_in_labelled_texts_names_the_element(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        write_labelled(tmp_path / "labels.jsonl", [("a", "x"), row], "labels", LabelColumns())
    assert str(caught.value) == message


def test_a_file_of_labels_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"x": "one", "y": 1}\n{"x": "two", "y": 2.50}\n')
    read = read_labelled(path)
    assert (read.texts, read.labels) == (["one", "two"], ["1", "2.50"])
    path.write_text('{"text": "one", "label": "a"}\n{"text": "two"}\n')
    with pytest.raises(
        DataError, match="line 2 has the columns 'text', but the first line has 'text', 'label'"
    ):
        read_labelled(path)


def checker(shade: int, *channels: int) -> Any:
    return np.full((4, 4, *channels), shade, dtype=np.uint8) * np.eye(4, dtype=np.uint8).reshape(
        4, 4, *(1 for _ in channels)
    )


def test_images_and_classes_are_read_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "file.png"
    Image.fromarray(checker(40)).save(file)
    rows: list[tuple[Any, Any]] = [
        (checker(10), "a/b"), (Image.fromarray(checker(20)), ".."), (checker(30)[None], "a/b"), (file, "..")
    ]  # fmt: skip
    (tmp_path / "out").mkdir()
    write_classes(tmp_path / "out", rows, "images", (None, None))
    read = read_image_folder(tmp_path / "out").train
    assert read.classes == ("..", "a/b")
    shades = [20, 40, 10, 30]
    assert np.array_equal(read.pictures, np.stack([checker(shade)[None] for shade in shades]))
    assert read.labels.tolist() == [0, 0, 1, 1]


def test_captions_are_read_back_in_their_order(tmp_path: Path) -> None:
    images = [checker(50, 3), checker(60, 3)]
    for name in ("plain", "captioned"):
        (tmp_path / name).mkdir()
    write_images(tmp_path / "plain", np.stack(images), "images", None)
    assert np.array_equal(read_plain(tmp_path / "plain", None), np.stack(images).transpose(0, 3, 1, 2))
    data = {"image": images, "caption": ["a\tcat", ["a dog", "one dog"]]}
    write_captioned(tmp_path / "captioned", data, "images", (None, None))
    assert read_captioned(tmp_path / "captioned", None, None).captions == [("a cat",), ("a dog", "one dog")]


@pytest.mark.parametrize(
    ("write", "row", "message"),
    [
        (write_classes, (None, "x"), "images[0][0] is None; expected an image: a PIL image, an array or a path."),
        (write_classes, (checker(1) / 2, "x"), "images[0][0] has values of type float64; expected uint8, from 0 to 255."),
        (write_classes, (np.zeros((2, 3, 4, 5), np.uint8), "x"),
         "images[0][0] has the shape (2, 3, 4, 5); expected (height, width) or (height, width, 3)."),
        (write_classes, ("no.png", "x"), "images[0][0] is 'no.png', but there is no such file."),
        (write_classes, (checker(1),), "images[0] has 1 item; expected an image and a label."),
        (write_captioned, {"image": checker(1), "title": "x"}, "images has the columns 'image', 'title'. Choose the caption_column."),
        (write_captioned, (checker(1), 5), "images[0] is int; expected str."),
    ],
)  # fmt: skip
def test_an_error_in_images_names_the_element(
    tmp_path: Path, write: Callable[..., None], row: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        write(tmp_path, [row], "images", (None, None))
    assert str(caught.value) == message


def test_rows_are_written_one_at_a_time(tmp_path: Path) -> None:
    """A generator may give more than fits into memory: when it gives a row, those before it are not kept."""
    path, seen = tmp_path / "text.jsonl", []

    def texts() -> Iterator[str]:
        for number in range(3000):
            seen.append(path.stat().st_size if path.exists() else 0)
            yield f"{number} " * 20

    write_texts(path, texts(), "text", None)
    assert seen[1500] > 0  # the file grows while the data are read
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 3000
