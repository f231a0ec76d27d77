"""Write the notebooks of the course from its pages: docs/course/LANGUAGE/LESSON.md becomes examples/course/LANGUAGE/LESSON.ipynb.

    python tools/course.py                  # write the notebooks
    python tools/course.py --translated     # also state that every translation is that of the present English page

A page is the source. Its Python blocks become code cells, and the text between them becomes text cells. A translation states the
English page that it translates by a hash in its first line, so a test sees which ones are outdated.
"""

import argparse
import hashlib
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES, NOTEBOOKS = ROOT / "docs" / "course", ROOT / "examples" / "course"
LANGUAGES = ("en", "es", "ko")
STATED = re.compile(r"<!-- en: (\w{12}) -->\n")
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\((?:\.\./)*([^)]+)\)\n*")


def lessons() -> list[str]:
    return [page for page in pages() if page != "index"]


def pages() -> list[str]:
    """The lessons and the page about the course."""
    return [path.stem for path in sorted((PAGES / "en").glob("*.md"))]


def stated_hash(text: str) -> str | None:
    match = STATED.match(text)
    return match[1] if match else None


def hash_of(english: str) -> str:
    return hashlib.sha256(english.encode()).hexdigest()[:12]


def notebook_of(text: str, language: str) -> dict[str, Any]:
    """Pictures are left out: a notebook may be copied away from the clone."""
    parts = CODE.split(PICTURE.sub("", STATED.sub("", text)))
    cells = [cell(number, part.strip()) for number, part in enumerate(parts) if part.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}, "lang": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def cell(number: int, text: str) -> dict[str, Any]:
    source = text.splitlines(keepends=True)
    if number % 2:
        return {"cell_type": "code", "execution_count": None, "id": f"c{number}", "metadata": {}, "outputs": [], "source": source}  # fmt: skip
    return {"cell_type": "markdown", "id": f"t{number}", "metadata": {}, "source": source}


def written(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def state_hashes() -> None:
    for language in LANGUAGES[1:]:
        for lesson in pages():
            path = PAGES / language / f"{lesson}.md"
            english = (PAGES / "en" / f"{lesson}.md").read_text(encoding="utf-8")
            text = STATED.sub("", path.read_text(encoding="utf-8"))
            path.write_text(f"<!-- en: {hash_of(english)} -->\n{text}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the notebooks of the course from its pages.")
    parser.add_argument(
        "--translated", action="store_true", help="state that the translations are up to date"
    )
    if parser.parse_args().translated:
        state_hashes()
    for language in LANGUAGES:
        folder = NOTEBOOKS / language
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in lessons():
            text = (PAGES / language / f"{lesson}.md").read_text(encoding="utf-8")
            (folder / f"{lesson}.ipynb").write_text(written(notebook_of(text, language)), encoding="utf-8")


if __name__ == "__main__":
    main()
