"""The examples of docs/python.md on loading, running and errors run, and print what their comments say."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(section: str) -> list[str]:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def names(folder: Path) -> dict[str, Any]:
    """The namespace after the first section, which opens the models that the others use."""
    (folder / "lines.txt").write_text("one two\nthree\n", encoding="utf-8")
    found: dict[str, Any] = {}
    for block in blocks("Load and run models"):
        exec(block, found)
    return found


def test_models_are_loaded_and_run(names: dict[str, Any], folder: Path) -> None:
    assert (folder / "translations.txt").read_text(encoding="utf-8").count("\n") == 2
    assert names["found"].text
    assert names["bert"].embed("one two").shape == (24,)
    assert names["classifier"].classify("one two").label == "good"


def test_errors_say_what_the_page_says(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    [block] = blocks("Errors")
    capsys.readouterr()
    exec(block, names)
    promised = re.findall(r"print\(error\) +# (.*)$", block, flags=re.MULTILINE)
    assert len(promised) == 3
    assert capsys.readouterr().out.splitlines() == promised
