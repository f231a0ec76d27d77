"""A text whose markup a model breaks keeps its source, and the rest of the file is translated."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import save_untrained

import qkv
from qkv.documents import NewText, read_catalog
from qkv.documents.document import NewTexts
from qkv.families.translator.files.outcome import Outcome
from qkv.families.translator.files.withdrawing import write_exactly
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.translations import Translation

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RUNS = "<w:p><w:r><w:t>{} </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r></w:p>"


def word(*texts: str) -> bytes:
    made = io.BytesIO()
    body = "".join(map(RUNS.format, texts))
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr(
            "word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        )
    return made.getvalue()


HTML = b"<p>one <b>bold</b></p><p>two <b>bold</b></p><p>three <b>bold</b></p>"
TAGS = {
    "lost end": lambda text: text.replace("</b>", ""),
    "comment": lambda text: f"{text} <!-- ",
    "block": lambda text: f"{text}<p>more</p>",
    "open tag": lambda text: text.replace("</b>", "</b"),
}


@pytest.mark.parametrize("damage", TAGS.values(), ids=TAGS)
@pytest.mark.parametrize(
    ("name", "content"), [("in.html", HTML), ("in.md", HTML.replace(b"</p><p>", b"</p>\n\n<p>"))]
)
def test_one_broken_text_keeps_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, damage: Callable[[str], str]
) -> None:
    report, written = translated(tmp_path, monkeypatch, name, content, damage)
    assert [each["origin"] for each in report] == ["model", "held", "model"]
    assert written == content.replace(b"one", b"ONE").replace(b"three", b"THREE")
    held = report[1]
    assert (held["target"], held["doubtful"], held["checks"][-1]) == ("two <b>bold</b>", True, "markup")


def test_codes_of_office_files_are_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(text: str) -> str:
        return text.replace("</g1>", "</g")

    report, written = translated(tmp_path, monkeypatch, "in.docx", word("one", "two", "three"), damage)
    assert [each["origin"] for each in report] == ["model"] * 3
    assert [each["checks"] for each in report] == [[], ["codes", "placeholders"], []]
    texts = [each.text for each in read_catalog("docx", written).segments]
    assert texts[0] == "ONE <g1>bold</g1>"
    assert texts[1].startswith("TWO bold")
    assert texts[2] == "THREE <g1>bold</g1>"


def translated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, damage: Callable[[str], str]
) -> tuple[list[dict[str, Any]], bytes]:
    """The report and the file, by a model that damages the second text."""

    def translate(text: str) -> Translation:
        new = text.replace("one", "ONE").replace("three", "THREE")
        new = damage(new.replace("two", "TWO")) if "two" in text else new
        return Translation(text=new, score=-1.0, log_probabilities=(-1.0,))

    monkeypatch.setattr(Pipeline, "hypotheses", lambda _, texts, *rest: [[translate(text)] for text in texts])
    save_untrained(folder / "model", ["one two three", "eins zwei drei"], beam=1, length_penalty=0.0)
    source, output = folder / name, folder / f"out{Path(name).suffix}"
    source.write_bytes(content)
    qkv.load(folder / "model").translate_file(source, output, progress=False)
    lines = (folder / f"{output.name}.report.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], output.read_bytes()


def test_many_broken_texts_take_few_readings() -> None:
    """Every tenth text of 2,000, and forty in a row."""
    content = "".join(f"<p>text {number}</p>\n" for number in range(2_000)).encode()
    document = read_catalog("html", content)
    broken = {*range(0, 2_000, 10), *range(500, 540)}
    outcomes = [
        Outcome(origin="model", new=NewText(f"new {each.text}{'<p>x' if place in broken else ''}"))
        for place, each in enumerate(document.segments)
    ]
    comparisons: list[int] = []

    def compare(written: bytes, new: NewTexts) -> list[range]:
        assert document.compare is not None
        found = document.compare(written, new)
        comparisons.append(len(found))
        return found

    exact = write_exactly(replace(document, compare=compare), outcomes, lambda _: document)
    assert exact is not None
    assert {place for place, each in enumerate(exact[1]) if each.origin == "held"} == broken
    assert len(comparisons) <= 8
