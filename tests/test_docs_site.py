"""The documentation site: its navigation is complete, its links lead somewhere, and the example of the first concept runs.

`make docs` also checks the built site: anchors of generated pages, and that no page asks another host.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]  # fmt: skip
GENERATED = {
    "python-reference.md",
    "notebooks.md",
    "changelog.md",
    "architecture.md",
    "contributing.md",
    "security.md",
}
GENERATED |= {"commands/index.md"}
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def entries(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for each in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from entries(each)


def test_every_page_is_in_the_navigation_once() -> None:
    nav = list(entries(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(nav) == sorted(pages | GENERATED)


def slug(heading: str) -> str:
    """As GitHub and the site make anchors of headings."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", heading).strip().lower()
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain))


def anchors_of(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors_of(path)):
            broken.append(link)
    assert broken == []


def test_the_example_of_attention_prints_the_numbers_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "attention.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    printed = re.findall(r"-?\d+\.\d+", capsys.readouterr().out)
    assert [round(float(each), 2) for each in printed[:3]] == [2.7, 2.4, 3.49]
    assert [round(float(each), 3) for each in printed[9:11]] == [1.221, 1.016]


def test_messages_on_the_page_of_troubleshooting_are_those_of_the_program() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = {
        text
        for row in page.splitlines()
        for text in re.findall(r"`([^`]+)`", row.split(" | ")[0])
        if row.startswith("| ") and " " in text
    }
    source = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "qkv").rglob("*.py"))
    source = re.sub(r"\"\s+f?\"", "", source)  # a message may stand on several lines
    assert len(quoted) > 10
    assert sorted(text for text in quoted if text not in source) == ["qkv: command not found"]


def test_formulas_become_mathml_and_code_stays() -> None:
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    sys.path.insert(0, str(ROOT / "tools" / "site"))
    try:
        from formulas import with_formulas
    finally:
        sys.path.pop(0)
    found = with_formulas("a $x_1$ costs 5 $ or `$HOME` and `$y$`")
    assert found.count("<math") == 1
    assert found.endswith("costs 5 $ or `$HOME` and `$y$`")
