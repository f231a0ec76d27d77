"""Notebooks as pages: their text and their code."""

import json
from pathlib import Path


def notebook_pages(root: Path) -> dict[str, str]:
    pages = {}
    titles = {}
    for path in sorted((root / "examples").rglob("*.ipynb")):
        name = path.relative_to(root).with_suffix(".md").as_posix()
        pages[name] = page_of(json.loads(path.read_text(encoding="utf-8")))
        titles[name] = pages[name].split("\n", 1)[0].lstrip("# ")
    listed = [f"- [{title}]({name})" for name, title in titles.items() if "/course/" not in name]
    start = "To run them: `pip install notebook`, then `jupyter notebook examples` in the clone."
    pages["notebooks.md"] = "\n".join(["# Notebooks", "", start, "", *listed, ""])
    return pages


def page_of(notebook: dict[str, list[dict[str, object]]]) -> str:
    parts = []
    for cell in notebook["cells"]:
        source = cell["source"]
        text = "".join(source) if isinstance(source, list) else str(source)
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"
