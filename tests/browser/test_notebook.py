"""What a notebook shows: the explorer inside a frame, and the picture of a trace."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Page
from explorable import SENTENCE, random_translator

import qkv
from qkv.api.exploring import Exploration
from qkv.explorer.session import Explorer, TraceQuery

Open = Callable[[str], Page]


@pytest.fixture
def notebook(browser: Any, tmp_path: Path) -> Open:
    """A page with the output of a cell."""

    def show(html: str) -> Page:
        (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(f"file://{tmp_path / 'cell.html'}")
        return Page(browser, "")

    return show


def faults(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_the_explorer_works_inside_a_frame(notebook: Open, browser: Any, tmp_path: Path) -> None:
    from contextlib import ExitStack

    translator = random_translator()
    translator.save(tmp_path / "model")
    explorer = Explorer(tmp_path / "model")
    shown = Exploration(explorer, TraceQuery(text=SENTENCE), ExitStack())._repr_html_()
    page = notebook(shown)
    browser.switch_to.frame(0)
    page.ready()
    translation = explorer.trace(TraceQuery(text=SENTENCE))[0].translation
    assert translation is not None
    assert page.output() == translation.strip()
    first = page.title()
    page.click("#stations button", 7)
    assert page.title() != first
    assert page.cells()
    browser.switch_to.default_content()
    assert faults(browser) == []


def test_the_picture_of_a_trace_shows_the_chosen_block_and_head(notebook: Open, browser: Any) -> None:
    trace = qkv.trace(random_translator(), SENTENCE)
    page = notebook(trace._repr_html_())
    choose = "const list = document.querySelectorAll('select')[arguments[0]]; list.value = arguments[1]; list.dispatchEvent(new Event('change'))"
    cells = "return [...[...document.querySelectorAll('svg')].find(e => e.style.display !== 'none').querySelectorAll('rect')].map(e => +e.getAttribute('fill-opacity'))"
    mean = trace["decoder.2.cross_attention.weights"].mean(0)
    assert page.run(cells) == pytest.approx(mean.ravel().tolist(), abs=0.003)
    page.run(choose, 1, 0)
    page.run(choose, 2, 3)
    expected = trace["decoder.0.cross_attention.weights"][2]
    assert page.run(cells) == pytest.approx(expected.ravel().tolist(), abs=0.003)
    page.run(choose, 0, 1)
    assert len(page.run(cells)) == trace["encoder.0.attention.weights"][0].size
    assert faults(browser) == []
