"""The explorer's page as a person meets it, in a real browser."""

import json
import random
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from browsing import Page
from explorable import SENTENCE, STEPS
from serving import Served

from qkv import load, trace
from qkv.explorer.recompute import recompute
from qkv.explorer.session import Explorer, TraceQuery
from qkv.explorer.single_file import single_file
from qkv.tracing.experiments import Experiment

EN = json.loads((Path(__file__).parents[2] / "qkv/explorer/page/en.json").read_text(encoding="utf-8"))
STATIONS = [text for key, text in EN.items() if key.startswith("station ") and key != "station of"]
HOSTILE = [
    "<img src=x onerror=window.hurt=1> one two",
    "one <script>window.hurt=1</script> two",
    "‮one two‬ مرحبا three",
    "one 🎉👩‍👩‍👧 two",
    "one &lt;b&gt; \"two\" 'three' `four` ${window.hurt=1}",
    "one\u0000\u0007 two",
]


def test_all_stations_are_walked_by_keyboard_alone(page: Page) -> None:
    seen = [page.title()]
    for _ in range(20):
        before = page.title()
        page.press("PAGE_DOWN")
        page.wait(lambda before=before: page.title() not in ("", before))  # type: ignore[misc]
        page.ready()
        seen.append(page.title())
        assert page.count("#station math") > 0
        assert page.text("#station .purpose")
    assert sorted(seen) == sorted(STATIONS)
    assert len(seen) == len(set(seen)) == 21
    page.press("ARROW_LEFT")
    page.wait(lambda: page.title() == seen[19])
    page.press("8")
    page.wait(lambda: page.title() == EN["station softmax"])
    assert "station=8" in page.run("return location.hash")


def test_everything_that_can_be_clicked_can_be_reached_by_keyboard(page: Page) -> None:
    page.go(text=SENTENCE, station=8)
    unreachable = page.run(
        """return [...document.querySelectorAll("[onclick], button, a, input, select, summary")]
            .filter(each => each.tabIndex < 0 && !each.disabled).map(each => each.outerHTML.slice(0, 80))"""
    )
    assert unreachable == []
    page.run("document.querySelector('#station td[tabindex=\"0\"]').focus()")
    chosen = (
        "const cell = document.activeElement; return [Number(cell.dataset.row), Number(cell.dataset.column)]"
    )
    last = max(column for _, column in page.cells())
    for key, place in [
        ("ARROW_RIGHT", [0, 1]),
        ("ARROW_DOWN", [1, 1]),
        ("ARROW_LEFT", [1, 0]),
        ("END", [1, last]),
    ]:
        page.press(key)
        page.wait(lambda place=place: page.run(chosen) == place)  # type: ignore[misc]
    assert page.title() == EN["station softmax"]


def places(generator: random.Random) -> list[tuple[dict[str, Any], int, Any]]:
    """Cursors, the grid to look at, and how its numbers are found among those that were recorded."""

    def at(name: str, **more: Any) -> Any:
        return lambda arrays, cursor: (
            arrays[name.format(**cursor)][more["head"]] if "head" in more else arrays[name.format(**cursor)]
        )

    found: list[tuple[dict[str, Any], int, Any]] = []
    for _ in range(2):
        for side, depth in [("encoder", 2), ("decoder", 3), ("cross", 3)]:
            layer, head = generator.randrange(depth), generator.randrange(3)
            stack, part = ("decoder", "cross_attention") if side == "cross" else (side, "attention")
            base = {
                "side": side,
                "layer": layer + 1,
                "head": head + 1,
                "stack": stack,
                "part_": part,
                "block": layer,
            }
            name = "{stack}.{block}.{part_}."
            for station, parts in [(4, ["query", "key", "value"]), (5, ["scores"]), (6, ["scaled"]), (7, ["masked"]), (8, ["weights"]), (9, ["heads"])]:  # fmt: skip
                found += [
                    ({**base, "station": station}, grid, at(name + each, head=head))
                    for grid, each in enumerate(parts)
                ]
            found.append(({**base, "station": 10}, 1, at(name + "output")))
            found += [
                ({**base, "station": 11}, grid, at(name + each))
                for grid, each in [(1, "normed"), (2, "output"), (3, "result")]
            ]
            if side != "cross":
                found += [
                    ({**base, "station": 2}, 0, at("{stack}.tokens")),
                    ({**base, "station": 3}, 0, at("{stack}.positions")),
                    ({**base, "station": 3}, 1, at("{stack}.embedded")),
                ]
                found += [
                    ({**base, "station": 12}, grid, at("{stack}.{block}.feed_forward." + each))
                    for grid, each in enumerate(["hidden", "output"])
                ]
        layer, head = generator.randrange(3), generator.randrange(3)
        base = {"layer": layer + 1, "head": head + 1, "block": layer}
        found += [
            ({**base, "station": 14}, 0, at("encoder.output")),
            ({**base, "station": 14}, 2, at("decoder.{block}.cross_attention.value", head=head)),
        ]
        found += [
            ({**base, "station": 15}, 0, at("decoder.{block}.attention.weights", head=head)),
            ({**base, "station": 16}, 0, at("decoder.{block}.cross_attention.weights", head=head)),
        ]
        found.append(({**base, "station": 17}, 0, at("decoder.{block}.feed_forward.hidden")))
    return found


def test_two_hundred_random_cells_are_those_of_an_independent_computation(
    page: Page, service: Served
) -> None:
    generator = random.Random(4)
    arrays = recompute(trace(load(service.explorer.folder, compute_type="float32"), SENTENCE))
    checked = 0
    for cursor, grid, find in places(generator):
        shown = {
            name: value for name, value in cursor.items() if name in ("station", "side", "layer", "head")
        }
        page.go(text=SENTENCE, **shown)
        cells, wanted = page.cells(grid), find(arrays, cursor)
        for place in generator.sample(sorted(cells), 3):
            assert cells[place] == pytest.approx(wanted[place], abs=1e-4), (cursor, place)
            checked += 1
    assert checked >= 200


@pytest.mark.parametrize("side", ["encoder", "decoder", "cross"])
def test_softmax_rows_add_up_to_one_and_masked_cells_are_exactly_zero(page: Page, side: str) -> None:
    page.go(text=SENTENCE, station=8, side=side, layer=2, head=3)
    cells = page.cells()
    for row in {row for row, _ in cells}:
        assert sum(value for (r, _), value in cells.items() if r == row) == pytest.approx(1, abs=1e-5)
    hidden = page.run(
        "return [...document.querySelectorAll('#station td.hidden')].map(c => [+c.dataset.row, +c.dataset.column, c.dataset.value])"
    )
    size = max(row for row, _ in cells) + 1
    assert len(hidden) == (size * (size - 1) // 2 if side == "decoder" else 0)
    assert all(column > row and value == "0" for row, column, value in hidden)
    page.go(text=SENTENCE, station=7, side=side, layer=2, head=3)
    assert page.count("#station td.hidden") == len(hidden)
    hatched = "return [...document.querySelectorAll('#station td.hidden')].every(c => getComputedStyle(c).backgroundImage.includes('gradient'))"
    assert page.run(hatched)


@pytest.mark.parametrize("language", ["en", "es", "ko"])
def test_the_worked_softmax_shows_the_maximum_that_it_subtracts(
    page: Page, service: Served, language: str
) -> None:
    speak(page, language)
    unscaled = TraceQuery(text=SENTENCE, experiment=Experiment(no_scaling=True))  # its scores are large
    arrays = recompute(service.explorer.trace(unscaled)[0])
    scores, weights = (arrays[f"encoder.0.attention.{part}"][1, 1] for part in ("masked", "weights"))
    largest = scores.max()
    assert largest > 15
    for column in range(len(scores)):
        page.go(
            text=SENTENCE, no_scaling=1, station=8, side="encoder", layer=1, head=2, row=2, column=column + 1
        )
        [[above, below], [numerator, denominator]] = page.run(
            """return [...document.querySelectorAll("#station .with-numbers mfrac")]
                .map(fraction => [...fraction.children].map(part => part.textContent))"""
        )
        assert above == f"e{scores[column]:.3f}−{largest:.3f}".replace("-", "−")
        assert below.endswith(f"−{largest:.3f}")
        assert number(numerator) == pytest.approx(np.exp(scores[column] - largest), abs=1e-3)
        assert number(numerator) / number(denominator) == pytest.approx(weights[column], abs=1e-3)
        assert f"{largest:.3f}" in page.text("#station .with-numbers .hint")


def number(shown: str) -> float:
    return float(shown.replace("−", "-"))


def speak(page: Page, language: str) -> None:
    script = "const s = document.getElementById('language'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    page.run(script, language)
    page.wait(lambda: page.run("return document.documentElement.lang") == language)


@pytest.mark.parametrize("text", [SENTENCE, "nine", "zero four {name} five", "eight eight"])
def test_the_final_words_are_those_of_translate(page: Page, service: Served, text: str) -> None:
    page.write(text)
    assert page.output() == load(service.explorer.folder, compute_type="float32").translate(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(page: Page, service: Served, text: str) -> None:
    page.go(text=text, station=1)
    assert page.run("return document.getElementById('text').value.length") > 0
    assert page.output() == load(service.explorer.folder, compute_type="float32").translate(
        text.replace("\u0000", "\u0000")
    )
    for station in (1, 8, 16, 20):
        page.go(text=text, station=station)
        assert page.run("return window.hurt") is None
        assert page.count("#station img, #station script, #output *, header img") == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seven " * 60, "at most 48"),
        ("seven " * 833, "the limit is 1,000"),
        ("…", "at least one letter"),
        ("", "at least one letter"),
    ],
)
def test_input_that_cannot_be_shown_gives_an_error_message(page: Page, text: str, sentence: str) -> None:
    page.write(text)
    assert sentence in page.problem()
    assert page.output() == ""
    page.write("one two")
    assert page.problem() == ""
    assert page.output()


def test_fast_typing_never_shows_a_stale_output(
    page: Page, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, chance = Explorer.summary, random.Random(1)

    def slow(self: Explorer, query: TraceQuery) -> dict[str, Any]:
        time.sleep(0.3 * chance.random())
        return usual(self, query)

    monkeypatch.setattr(Explorer, "summary", slow)
    page.run(
        """window.shown = []; const field = document.getElementById("text"), answer = document.getElementById("output");
        const note = () => { if (answer.textContent && answer.textContent !== "…") window.shown.push([field.value, answer.textContent]) };
        new MutationObserver(note).observe(answer, { childList: true, characterData: true, subtree: true });
        field.addEventListener("input", note)"""
    )
    field = page.browser.find_element("id", "text")
    field.clear()
    for letter in "one two three four":
        field.send_keys(letter)
        time.sleep(0.2 * chance.random())
    page.wait(lambda: page.text("#output") not in ("", "…"))
    page.ready()
    translator = load(service.explorer.folder, compute_type="float32")
    shown = page.run("return window.shown")
    assert shown[-1] == ["one two three four", translator.translate("one two three four")]
    for text, answer in shown:
        assert answer == translator.translate(text.strip()), text  # the page strips what is typed


def test_the_accessibility_tree_names_every_matrix_and_cell(page: Page) -> None:
    for station, side in [(4, "encoder"), (7, "decoder"), (16, "cross"), (12, "encoder")]:
        page.go(text=SENTENCE, station=station, side=side)
        nodes = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if "role" in node and not node.get("ignored")
        ]
        grids = [name for role, name in named if role in ("grid", "table")]
        cells = [name for role, name in named if role == "gridcell"]
        assert len([each for each in grids if each]) >= page.count("#station table.grid") > 0
        assert len([each for each in cells if ": " in each]) == page.count("#station td[data-row]")
        assert all(name for role, name in named if role in ("button", "slider", "combobox", "textbox"))


def test_the_cursor_lives_in_the_address(page: Page) -> None:
    page.open(f"#text={quote(SENTENCE)}&station=8&side=decoder&layer=3&head=2&row=4&column=2")
    page.wait(
        lambda: (
            page.run("return document.querySelector('#station td[aria-selected=true]')?.dataset.row") == "3"
        )
    )
    page.run('document.querySelector(\'#station td[data-row="2"][data-column="1"]\').click()')
    page.wait(lambda: "row=3&column=2" in page.run("return location.hash"))
    link = page.run("return location.hash")
    value = page.cells()[2, 1]
    page.open(link)
    assert page.title() == EN["station softmax"]
    assert page.cells()[2, 1] == value
    assert page.run("return document.querySelector('#station td[aria-selected=true]').dataset.row") == "2"


def test_an_experiment_shows_its_output_next_to_the_original(page: Page, service: Served) -> None:
    page.open(f"#text={quote(SENTENCE)}&station=16")
    usual = page.output()
    page.run("document.getElementById('experiments').open = true")
    page.run("[...document.querySelectorAll('#experiment-panel input')].at(-1).click()")  # no positions
    page.wait(lambda: not page.run("return document.getElementById('compare').hidden"))
    page.ready()
    assert page.text("#compare .as-trained") == usual
    assert page.text("#compare .with-change") == page.output()
    assert "no_positions=1" in page.run("return location.hash")
    page.go(text=SENTENCE, station=15, side="decoder", no_mask=1)
    assert page.count("#station td.hidden") == 0


def test_every_experiment_is_a_switch_on_the_page(page: Page) -> None:
    page.open(f"#text={quote(SENTENCE)}&station=8&side=encoder&layer=2&head=3")
    page.run("document.getElementById('experiments').open = true")
    switches = (
        "return [...document.querySelectorAll('#experiment-panel .switches > *')].map(e => e.textContent)"
    )
    names = page.run(switches)
    assert len(names) == 6
    for place, part in enumerate(
        [
            "no_scaling=1",
            "no_mask=1",
            "no_positions=1",
            "shuffle=1",
            "encoder.1.attention.2",
            "silenced=encoder.1",
        ]
    ):
        page.click("#experiment-panel .switches > label > input, #experiment-panel .switches > button", place)
        assert part in page.run("return decodeURIComponent(location.hash)")
        assert page.run("return !document.getElementById('compare').hidden"), names[place]
        page.click("#experiment-panel .active .primary")  # as trained
        assert part not in page.run("return decodeURIComponent(location.hash)")


def test_the_alignment_is_updated_while_typing(page: Page, service: Served) -> None:
    page.go(text="one two three", station=16, layer=2)
    for text in ("one two seven", "one two seven nine"):
        page.write(text)
        assert page.title() == EN["station cross_attention"]
        translator = load(service.explorer.folder, compute_type="float32")
        read = page.run(
            "return [...document.querySelectorAll('.grid thead bdi')].map(e => e.textContent.trim())"
        )
        assert read == [piece.strip() for piece in trace(translator, text).sides[0].tokens]
        assert page.output() == translator.translate(text)
        assert page.count(".ribbon") > 0
        assert quote(text).replace("%20", "+") in page.run("return location.hash")


def test_a_link_to_an_output_token_shows_its_row(page: Page) -> None:
    page.open(f"#text={quote(SENTENCE)}&station=16&step=3")
    assert page.run("return document.querySelector('#station td[aria-selected=true]').dataset.row") == "3"
    assert page.run("return document.querySelectorAll('#station td[aria-selected=true]').length") == 1


def test_the_ground_truth_table_links_to_the_heads(
    page: Page, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = {"side": "encoder", "layer": 1, "head": 2, "right": 75.0}
    told = {
        "sentences": 4,
        "pronouns": 3,
        "chance": 9.1,
        "aligner": 1.5,
        "alignment": [{"layer": 2, "head": 1, "error": 3.5}],
        "reference": [{**head, "head": 0, "right": 5.0}, head],
    }
    monkeypatch.setattr(Explorer, "is_built_in", lambda self: True)
    monkeypatch.setattr(Explorer, "truth", lambda self: told)
    page.open(f"#text={quote(SENTENCE)}&station=1")
    page.run("document.getElementById('truth').open = true")
    page.wait(lambda: page.count("#truth-panel tr") == 3)
    assert page.text("#truth-panel tr").startswith("Encoder 2.375.0 %")  # the best comes first
    page.run("document.querySelector('#truth-panel button').click()")
    page.wait(lambda: page.title() == EN["station softmax"])
    assert "side=encoder&station=8&layer=2&head=3" in page.run("return location.hash")


def test_a_word_can_be_forced_and_the_rest_follows(page: Page) -> None:
    page.open(f"#text={quote(SENTENCE)}&station=20&step=1")
    other = page.run(
        "return [...document.querySelectorAll('#bars button')].findIndex(b => b.ariaPressed === 'false')"
    )
    word = page.run("return document.querySelectorAll('#bars button bdi')[arguments[0]].textContent", other)
    page.run("document.querySelectorAll('#bars button')[arguments[0]].click()", other)
    page.wait(lambda: "force=" in page.run("return location.hash"))
    page.ready()
    assert page.run("return document.querySelectorAll('#tokens button')[1].textContent") == word


def test_the_same_view_is_shown_for_every_checkpoint(page: Page) -> None:
    page.go(text=SENTENCE, station=21, side="cross")
    page.wait(lambda: page.count(".states canvas") == len(STEPS) + 1)
    page.run("document.querySelector('.states button').click()")
    page.wait(lambda: f"checkpoint={STEPS[0]}" in page.run("return location.hash"))
    page.ready()
    assert str(STEPS[0]) in page.text("#checkpoint-name")


@pytest.mark.parametrize(("language", "title"), [("es", "Máscara"), ("ko", "마스크"), ("en", "Mask")])
def test_the_page_speaks_three_languages(page: Page, language: str, title: str) -> None:
    page.go(text=SENTENCE, station=7, side="decoder")
    speak(page, language)
    page.wait(lambda: page.title() == title)
    assert "undefined" not in page.text("body")


@pytest.mark.parametrize(("languages", "chosen"), [("ko-KR,en", "ko"), ("fr,es-MX", "es"), ("fr", "en")])
def test_the_browser_chooses_the_language(page: Page, languages: str, chosen: str) -> None:
    agent = page.run("return navigator.userAgent")
    said = {"userAgent": agent, "acceptLanguage": languages}
    try:
        page.browser.execute_cdp_cmd("Emulation.setUserAgentOverride", said)
        page.run("localStorage.clear()")
        page.open("")
        assert page.run("return document.documentElement.lang") == chosen
    finally:
        page.browser.execute_cdp_cmd(
            "Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": "en-US"}
        )


def test_on_a_phone_the_present_station_and_word_are_in_sight(page: Page) -> None:
    page.resize(390, 844)
    page.go(text=SENTENCE, station=18, step=5)
    for place in ("#stations [aria-current]", "#tokens [aria-current]"):
        left, right = page.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.right]",
            place,
        )
        assert 0 <= left < right <= 390, place


@pytest.mark.parametrize("language", ["en", "es", "ko"])
def test_on_a_laptop_the_matrix_is_in_sight_without_scrolling(page: Page, language: str) -> None:
    page.resize(1366, 768)
    speak(page, language)
    for station in range(2, 18):
        page.go(text=SENTENCE, station=station)
        top, bottom, limit = page.run(
            """const grid = document.querySelector("#station table.grid"), rows = grid.querySelectorAll("tbody tr");
            const last = rows[Math.min(12, rows.length) - 1];  // of a long sentence at least twelve tokens
            return [grid.getBoundingClientRect().top, last.getBoundingClientRect().bottom, document.getElementById("bottom").getBoundingClientRect().top]"""
        )
        assert page.run("return scrollY") == 0
        assert 0 <= top < bottom <= limit, station


def test_on_a_phone_the_examples_menu_has_its_label(page: Page) -> None:
    page.resize(390, 844)
    page.go(text=SENTENCE, station=8)
    room, needed, right = page.run(
        """const menu = document.getElementById("examples"), style = getComputedStyle(menu);
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = style.font;
        return [menu.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
            pen.measureText(menu.selectedOptions[0].textContent).width, menu.getBoundingClientRect().right]"""
    )
    assert page.run("return document.getElementById('examples').selectedOptions[0].text") == EN["examples"]
    assert room >= needed
    assert right <= 390


@pytest.mark.parametrize(("station", "side"), [(8, "decoder"), (16, "cross"), (9, "decoder"), (4, "encoder")])
def test_on_a_phone_no_row_label_is_cut_or_broken_into_letters(page: Page, station: int, side: str) -> None:
    page.resize(390, 844)
    page.go(text=SENTENCE, station=station, side=side)
    cut = page.run(
        """return [...document.querySelectorAll("#station .grid tbody th")].filter(head => {
            const box = head.getBoundingClientRect(), text = head.firstChild.getBoundingClientRect();
            return text.left < box.left || text.right > box.right || text.top < box.top || text.bottom > box.bottom + 1
                || head.scrollWidth > head.clientWidth || text.height > 40;
        }).map(head => head.textContent)"""
    )
    assert cut == []


def visible_status(page: Page) -> str:
    return str(
        page.run(
            """const status = document.getElementById("loading"), box = status?.getBoundingClientRect();
            return box && box.width && box.top >= 0 && box.bottom <= innerHeight ? status.textContent : """
            "''"
        )
    )


def test_a_page_opened_while_the_server_is_busy_says_so_and_then_loads(
    page: Page, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, usual = threading.Event(), Explorer.summary

    def slow(self: Explorer, query: TraceQuery) -> dict[str, Any]:
        assert go_on.wait(60)
        return usual(self, query)

    monkeypatch.setattr(Explorer, "summary", slow)
    try:
        page.browser.get("about:blank")
        page.browser.get(page.address)
        page.wait(lambda: visible_status(page) == EN["loading"])
        others = "for (let i = 0; i < 5; i++) fetch('/api/explore/trace', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: { text: 'one' } }) })"
        page.run(others)  # one is computed and two wait: whoever comes now is sent away
        page.run("window.dispatchEvent(new Event('hashchange'))")
        page.wait(lambda: visible_status(page) == EN["server busy"])
    finally:
        go_on.set()
    page.ready()
    assert page.output() != ""
    assert visible_status(page) == ""


def test_a_page_whose_server_does_not_answer_retries(page: Page) -> None:
    def block(*addresses: str) -> None:
        page.browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": list(addresses)})

    page.browser.execute_cdp_cmd("Network.enable", {})
    try:
        block("*/api/explore/info")
        page.browser.get("about:blank")
        page.browser.get(page.address)
        page.wait(lambda: visible_status(page) == EN["unreachable"])
        block("*/api/explore/trace")
        page.wait(lambda: page.problem() == EN["unreachable"])
    finally:
        block()
    page.wait(lambda: page.problem() == "" and page.title() != "")
    page.ready()
    assert page.output() != ""
    page.browser.get_log("browser")  # the blocked requests


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1366, 768), (1920, 1080)])
def test_nothing_sticks_out_at_any_size_in_light_and_dark(page: Page, width: int, height: int) -> None:
    page.resize(width, height)
    for station in (1, 3, 4, 8, 10, 16, 18, 20):
        page.go(text=SENTENCE, station=station)
        for theme in ("light", "dark"):
            page.run("document.documentElement.dataset.theme = arguments[0]", theme)
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), (station, theme)


def test_one_file_opens_from_disk_with_the_same_numbers(page: Page, service: Served, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    file.write_text(single_file(service.explorer, TraceQuery(text=SENTENCE)), encoding="utf-8")
    page.go(text=SENTENCE, station=8, side="cross", layer=2, head=2)
    served_cells, served_answer = page.cells(), page.output()
    page.browser.get(f"file://{file}#station=8&side=cross&layer=2&head=2")
    page.ready()
    assert page.output() == served_answer
    assert page.cells() == served_cells
    for station in range(1, 21):
        page.go(station=station, layer=2, head=2)
        assert page.problem() == ""
        assert page.title()
    assert np.isfinite(list(page.cells().values() if page.count("#station table.grid") else [1.0])).all()
