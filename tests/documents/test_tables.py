"""Tables: one column is read, another one is written, and every other byte stays."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qkv.documents import Document, read_catalog
from qkv.documents.reading import ReadingOptions
from qkv.errors import DataError, QkvError

CSV = 'id,text,note\r\n1,"A ""cat"", here",x\r\n\r\n2,dog\r\n3, ,y\r\n4,fish,z'
JSONL = '{"text": "A \\"cat\\"", "n": 1 }\n\n{"text": 5}\n{"translation": "Hund", "text": "dog"}\n'
READ = {"csv": csv.reader, "tsv": lambda file: csv.reader(file, delimiter="\t")}


def read(format: str, content: str, output: str = "translation") -> Document:
    return read_catalog(format, content.encode(), None, ReadingOptions(column="text", output_column=output))


def test_a_new_column_an_existing_one_and_the_same() -> None:
    assert [each.text for each in read("csv", CSV).segments] == ['A "cat", here', "dog", "fish"]
    written = read("csv", CSV).write(["Eine Katze, hier", "Hund", None]).decode()
    assert written == (
        'id,text,note,translation\r\n1,"A ""cat"", here",x,"Eine Katze, hier"\r\n\r\n2,dog,,Hund\r\n3, ,y\r\n4,fish,z'
    )
    again = read("csv", written)
    assert [(each.target, each.state) for each in again.segments] == [
        ("Eine Katze, hier", "translated"), ("Hund", "translated"), ("", "untranslated")
    ]  # fmt: skip
    assert read("csv", CSV, "note").write(["a", "b", "c"]).decode().endswith("2,dog,b\r\n3, ,y\r\n4,fish,c")
    assert read("csv", CSV, "text").write(["Katze", None, 'F"']).endswith(b'2,dog\r\n3, ,y\r\n4,"F""",z')


def test_json_lines_get_a_key() -> None:
    document = read("jsonl", JSONL)
    assert [(each.text, each.target) for each in document.segments] == [('A "cat"', ""), ("dog", "Hund")]
    written = document.write(['Eine "Katze"', "Köter"]).decode()
    assert written.splitlines()[0] == '{"text": "A \\"cat\\"", "n": 1, "translation": "Eine \\"Katze\\"" }'
    assert written.splitlines()[3] == '{"translation": "Köter", "text": "dog"}'
    assert [json.loads(line) for line in written.splitlines() if line][1] == {"text": 5}


cells = st.lists(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), min_size=2, max_size=2
    ),
    min_size=1,
    max_size=4,
)


@given(cells, st.sampled_from(["csv", "tsv"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_table_of_python_is_read_and_any_text_is_written(
    rows: list[list[str]], format: str, end: str, same: bool
) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter="," if format == "csv" else "\t", lineterminator=end).writerows(
        [["text", "b"], *rows]
    )
    document = read(format, file.getvalue(), "text" if same else "translation")
    wanted = [row[0] for row in rows if row[0].strip()]
    assert [each.text for each in document.segments] == wanted
    assert document.write([each.current for each in document.segments]) == file.getvalue().encode()
    new = [f'{text}, "neu"\t\n' for text in wanted]
    made = read(format, document.write(new).decode(), "text" if same else "translation")
    assert [each.current for each in made.segments] == new


@pytest.mark.parametrize(
    ("format", "content"),
    [("csv", 'text\n"open'), ("csv", 'text\n"a"b\n'), ("csv", "a,b\n1,2\n"), ("jsonl", "{"), ("jsonl", '{"a": "b"}'), ("jsonl", '{"text": "a", "translation": 1}')],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error(format: str, content: str) -> None:
    with pytest.raises(QkvError):
        read(format, content)


def test_a_table_needs_a_column_and_a_hostile_one_takes_no_time() -> None:
    with pytest.raises(QkvError, match="must name the column"):
        read_catalog("csv", b"a,b\n1,2\n")
    assert len(read("csv", "text\n" + '""""' * 20_000).segments) == 1
    with pytest.raises(DataError):
        read("csv", "text\n" + '"' * 40_001)
