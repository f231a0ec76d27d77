"""Every member of the family opens the same page, with the stations that it has; the rest are greyed out."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import opened
from explorable import SENTENCE, STEPS, random_recurrent, random_translator, save_explorable
from family_bundles import SAVED
from serving import Served, served

from qkv import load, trace
from qkv.explorer.recompute import recompute

GREY = {
    "recurrent": {3, 11, 12, 15, 17},
    "ssru": {15, 17},
    "gpt": {14, 16, 21},
    "bert": {14, 15, 16, 17, 21},
    "vit": {14, 15, 16, 17, 21},
}


def save_recurrent(folder: Path) -> str:
    save_explorable(folder, random_recurrent, beam=2)
    return SENTENCE


def save_ssru(folder: Path) -> str:
    save_explorable(folder, random_translator, cell="ssru")
    return SENTENCE


@pytest.fixture(scope="module", params=GREY)
def member(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Served]]:  # fmt: skip
    folder = tmp_path_factory.mktemp("family") / "model"
    text = {**SAVED, "recurrent": save_recurrent, "ssru": save_ssru}[request.param](folder)
    with served(folder, [Path(text)] if request.param == "vit" else []) as running:
        yield request.param, text, running


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("recurrent") / "model"
    save_recurrent(folder)
    with served(folder) as running:
        yield running


def test_its_stations_are_walked_and_the_others_are_grey(
    browser: Any, member: tuple[str, str, Served]
) -> None:
    kind, text, service = member
    with opened(browser, service) as page:
        page.go(text=text, station=1)
        disabled = (
            "return [...document.querySelectorAll('#stations button:disabled')].map(b => +b.textContent)"
        )
        assert set(page.run(disabled)) == GREY[kind]
        assert page.output()
        assert page.text("#check").startswith("Checked: all")
        for station in sorted({*range(1, 22)} - GREY[kind]):
            page.go(text=text, station=station)
            assert page.problem() == ""
            assert page.count("#station math") > 0, station
            assert f"Station {station} of 21" in page.text("#station .count")
            assert "undefined" not in page.text("#station")
            assert "NaN" not in page.text("#station")
            for origin in range(page.count("#station .origins button")):
                page.click("#station .origins button", origin)
                assert page.problem() == ""
                arrived = page.run(
                    "return Number(document.querySelector('#stations [aria-current]').textContent)"
                )
                assert f"station={arrived}&" in page.run("return location.hash"), "it led to a grey station"
                page.go(text=text, station=station)


def test_the_terms_of_a_logit_add_up_to_it(browser: Any, member: tuple[str, str, Served]) -> None:
    """Also where a bias is added; a BERT's words come from more than one matrix, and have no such line."""
    kind, text, service = member
    with opened(browser, service) as page:
        for column in (1, 2):
            page.go(text=text, station=18, column=column)
            line = page.text("#station .with-numbers .math")
            if kind == "bert":
                assert line == ""
                continue
            terms, value = line.replace("−", "-").replace("·", "*").split("=")[-2:]
            assert re.fullmatch(r"[-+*().\d\s]+", terms)
            assert eval(terms) == pytest.approx(float(value), abs=0.01)
            assert page.text("#station .formulas .math").count("b") == (2 if kind == "vit" else 0)


def test_patches_are_shown_as_tokens_and_a_masked_word_is_predicted(
    browser: Any, member: tuple[str, str, Served]
) -> None:
    kind, text, service = member
    with opened(browser, service) as page:
        page.go(text=text, station=1)
        patches = page.count("#station canvas.patch")
        assert patches == (6 if kind == "vit" else 0)
        if kind == "bert":
            assert "[MASK]" in page.text("#station .chips")
            assert page.text("#tokens button") == page.output()


def test_cells_of_a_recurrent_model_are_those_of_an_independent_computation(
    browser: Any, recurrent: Served
) -> None:
    generator = random.Random(5)
    arrays = recompute(trace(load(recurrent.explorer.folder, compute_type="float32"), SENTENCE))
    attention = "decoder.0.cross_attention"
    places = [
        ({"station": 2, "side": "encoder"}, 0, arrays["encoder.tokens"]),
        ({"station": 14}, 0, arrays["encoder.output"]),
        ({"station": 10}, 1, arrays[f"{attention}.output"]),
    ]
    for head in range(3):
        for station, grid, part in [(4, 0, "query"), (4, 1, "key"), (4, 2, "value"), (5, 0, "scores"), (6, 0, "scaled"), (8, 0, "weights"), (9, 0, "heads"), (16, 0, "weights")]:  # fmt: skip
            places.append(({"station": station, "head": head + 1}, grid, arrays[f"{attention}.{part}"][head]))
    with opened(browser, recurrent) as page:
        for cursor, grid, wanted in places:
            page.go(text=SENTENCE, **cursor)
            cells = page.cells(grid)
            assert len(cells) == wanted.size
            for place in generator.sample(sorted(cells), 3):
                assert cells[place] == pytest.approx(wanted[place], abs=1e-4), (cursor, place)


def test_a_recurrent_model_shows_its_kind_and_supports_experiments(browser: Any, recurrent: Served) -> None:
    with opened(browser, recurrent) as page:
        page.go(text=SENTENCE, station=16)
        usual = page.output()
        assert usual == load(recurrent.explorer.folder, compute_type="float32").translate(SENTENCE)
        assert "LSTMs with attention" in page.text("#model")
        assert page.count("#map .lstm") == 2 + 3
        assert page.count("#heads canvas") == 3
        assert page.count("#experiment-panel input") == 1  # there is no mask, and there are no positions
        page.go(text=SENTENCE, station=16, silenced="encoder.0")
        assert page.text("#compare .as-trained") == usual
        assert page.text("#compare .with-change") == page.output() != usual
        page.go(text=SENTENCE, station=21)
        page.wait(lambda: page.count(".states canvas") == len(STEPS) + 1)
