"""The page of `qkv serve` as a person meets it, in a real browser."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from translating import Server, TranslationPage, opened, served

from qkv.server.options import ServeOptions

TEXTS = json.loads((Path(__file__).parents[2] / "qkv/server/page/texts.json").read_text(encoding="utf-8"))
OPTIONS = ServeOptions(
    log_format="none", max_characters=200, default_target="es", explorer="http://localhost:1/"
)
HOSTILE = "<img src=x onerror=window.hurt=1> <script>window.hurt=1</script> &lt;b&gt; ${window.hurt=1}"
WATCH = """const own = window.fetch; [window.signals, window.seen] = [[], []];
window.fetch = (path, options) => { window.signals.push(options.signal); return own(path, options); };
new MutationObserver(() => window.seen.push(output.textContent)).observe(output, { childList: true })"""
TYPE = "(text => { source.value = text; source.dispatchEvent(new Event('input', { bubbles: true })) })"
CONTRAST = """
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const rgb = (text) => { const c = text.match(/[\\d.]+/g).map(Number); return c.length === 4 && c[3] === 0 ? null : c.slice(0, 3); };
const ground = (node) => { for (; node; node = node.parentElement) { const c = rgb(getComputedStyle(node).backgroundColor); if (c) return c; } };
const found = [];
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
  if (!own || !node.checkVisibility() || node.closest(":disabled, #mirror, .unseen, .skip, option, noscript")) continue;
  const [one, other] = [luminance(rgb(getComputedStyle(node).color)), luminance(ground(node))].sort((a, b) => b - a);
  found.push([(one + 0.05) / (other + 0.05), node.id || node.className || node.tagName, node.textContent]);
}
return found"""


@pytest.fixture(scope="session")
def translation_server() -> Iterator[Server]:
    with served(OPTIONS) as running:
        yield running


@pytest.fixture
def page(browser: Any, translation_server: Server) -> Iterator[TranslationPage]:
    with opened(browser, translation_server) as found:
        yield found


# Translating -------------------------------------------------------------------------------------------------


def test_a_burst_of_keys_is_one_request(page: TranslationPage) -> None:
    page.run(WATCH)
    page.run(f"for (const text of ['t', 'th', 'the', 'the ', 'the cat']) {TYPE}(text)")
    page.shows("el gato")
    assert page.run("return window.signals.length") == 1
    page.press(*" danced")
    page.shows("el gato bailó")


def test_an_older_answer_never_replaces_a_newer_one(page: TranslationPage) -> None:
    spanish = page.server.backends["es"]
    spanish.slow.clear()
    page.run(WATCH)
    page.write("the slow dog")
    page.wait(lambda: "the slow dog" in spanish.asked)
    page.translated("the cat", "el gato")
    assert page.run("return window.signals.map(each => each.aborted)") == [True, False]
    spanish.slow.set()
    page.wait(lambda: page.server.state.scheduler.running == 0)
    page.translated("the dog", "el perro")
    assert page.run("return window.seen") == ["el gato", "el perro"]


def test_lines_stay_lines_and_an_empty_text_has_no_translation(page: TranslationPage) -> None:
    page.translated("the cat\n\nthe dog\n", "el gato\n\nel perro\n")
    page.click("#clear")
    page.shows("")
    assert page.run("return document.getElementById('copy').disabled")
    assert page.focused() == "source"


def test_a_text_that_is_too_long_is_not_sent(page: TranslationPage) -> None:
    page.translated("the cat", "el gato")
    page.write("cat " * 100)
    page.wait(lambda: "200" in page.problem())
    assert page.output() == ""
    page.translated("the dog", "el perro")
    assert page.problem() == ""


def test_the_detected_language_is_shown_and_languages_swap(page: TranslationPage) -> None:
    page.translated("the cat danced", "el gato bailó")
    assert page.run("return document.getElementById('from').selectedOptions[0].text") == "English (detected)"
    page.click("#swap")
    page.shows("the cat danced")
    assert page.run("return [source.value, document.getElementById('from').value, to.value]") == [
        "el gato bailó",
        "es",
        "en",
    ]
    page.choose("to", "ar")  # no model translates Spanish into Arabic
    assert page.run("return to.value") == "en"
    page.choose("from", "en")
    page.choose("to", "ar")
    assert page.run("return document.getElementById('swap').disabled")


def test_a_text_in_the_target_language_offers_the_others(page: TranslationPage) -> None:
    page.translated("el gato", "el gato")
    page.wait(lambda: "Spanish" in page.text("#same"))
    page.click("#same button")
    page.shows("the cat")


def test_right_to_left_languages_are_written_from_the_right(page: TranslationPage) -> None:
    page.choose("to", "ar")
    page.translated("the cat", "ال قطة")
    assert page.run("return [output.dir, output.lang, getComputedStyle(output).direction]") == [
        "rtl",
        "ar",
        "rtl",
    ]
    page.click("#output .word")
    page.wait(lambda: page.count("#alternatives button") > 0)
    assert page.run("return document.querySelector('#alternatives button span').dir") == "rtl"
    page.press("ESCAPE")
    page.wait(lambda: page.focused() == "ال")
    page.press("ARROW_LEFT")
    assert page.focused() == "قطة"


def test_a_link_brings_its_text_and_languages(page: TranslationPage) -> None:
    page.open("#source=es&target=en&text=el%20gato")
    page.shows("the cat")


def test_a_server_that_comes_back_is_used_again(page: TranslationPage) -> None:
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.enable", {})
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    page.write("the cat")
    page.wait(lambda: page.problem() == TEXTS["unreachable"]["en"])
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**offline, "offline": False})
    page.shows("el gato")
    assert page.problem() == ""


# Words -------------------------------------------------------------------------------------------------------


def test_hovering_a_word_lights_the_words_it_belongs_to(page: TranslationPage) -> None:
    from selenium.webdriver import ActionChains

    page.translated("the dog\nthe old cat danced", "el perro\nel gato viejo bailó")
    words = page.browser.find_elements("css selector", "#output .word")
    ActionChains(page.browser).move_to_element(words[4]).perform()
    assert (page.lit("#output"), page.lit("#mirror")) == (["viejo"], ["old"])
    cat = page.browser.find_elements("css selector", "#mirror span")[4]
    ActionChains(page.browser).move_to_element(cat).perform()  # the field lies above the mirror
    assert (page.lit("#output"), page.lit("#mirror")) == (["gato"], ["cat"])
    page.run("source.focus(); source.setSelectionRange(13, 13)")
    page.wait(lambda: page.lit("#output") == ["viejo"])


def test_the_mirror_under_the_field_has_every_word_in_its_place(page: TranslationPage) -> None:
    text = "the old cat danced " * 9 + "\nthe dog"
    page.write(text.strip())
    page.wait(lambda: page.count("#mirror span") == 38)
    field, mirror = page.run(
        """const box = (node) => { const b = node.getBoundingClientRect(); return [b.left, b.top, b.width, b.height].map(Math.round); };
        return [box(source), box(mirror)]"""
    )
    assert field == mirror
    assert page.run("return source.scrollHeight <= source.clientHeight")
    names = "font padding letterSpacing whiteSpace overflowWrap lineHeight wordBreak"
    styles = "const s = getComputedStyle(arguments[0]); return arguments[1].split(' ').map(name => s[name])"
    nodes = [page.browser.find_element("id", name) for name in ("source", "mirror")]
    assert page.run(styles, nodes[0], names) == page.run(styles, nodes[1], names)


def test_unlikely_words_are_marked_for_eyes_and_ears(page: TranslationPage) -> None:
    page.translated("the cat snored", "el gato SNORED")
    marked = page.run(
        "return [...document.querySelectorAll('#output .unsure')].map(w => [w.textContent, w.ariaDescription ?? w.getAttribute('aria-description')])"
    )
    assert marked == [["SNORED", "low confidence"]]
    assert (
        page.run("return getComputedStyle(document.querySelector('#output .unsure')).textDecorationLine")
        == "underline"
    )
    assert "90%" in page.text("#confidence")
    page.translated("the cat", "el gato")
    assert page.run("return legend.hidden")


def test_an_alternative_replaces_the_rest_of_its_sentence(page: TranslationPage) -> None:
    page.translated("the cat danced\nthe dog", "el gato bailó\nel perro")
    page.click("#output .word", 1)
    page.wait(lambda: page.count("#alternatives button") == 2)
    assert page.text("#alternatives button b") == "felino"
    page.click("#alternatives button")
    assert page.output() == "el felino bailó\nel perro"
    assert page.focused() == "felino"
    assert page.lit("#mirror") == ["cat"]
    assert page.kept("history")[0]["target"] == "el felino bailó\nel perro"


def test_alternatives_are_chosen_by_keyboard_alone(page: TranslationPage) -> None:
    page.translated("the cat danced", "el gato bailó")
    page.hold("ALT", "o")
    assert page.focused() == "el"
    page.press("ARROW_RIGHT", "ENTER")
    page.wait(lambda: page.count("#alternatives button:focus") == 1)
    page.press("ESCAPE")
    assert page.focused() == "gato"
    assert page.run("return alternatives.hidden")
    page.press("ENTER")
    page.wait(lambda: page.count("#alternatives button:focus") == 1)
    page.press("ARROW_DOWN", "ENTER")
    page.wait(lambda: page.output() == "el minino bailó")
    assert page.run("return document.querySelectorAll('#output .word[tabindex=\"0\"]').length") == 1


def test_hostile_text_is_shown_as_text(page: TranslationPage) -> None:
    page.translated(HOSTILE, HOSTILE.upper())
    page.click("#output .word")
    page.wait(lambda: page.count("#alternatives button") > 0)
    assert page.run("return window.hurt") is None
    assert page.count("#output img, #mirror img, #history-list img, #alternatives img, main script") == 0


# Glossary, history, files ------------------------------------------------------------------------------------


def test_glossary_terms_are_used_and_survive_a_reload(page: TranslationPage) -> None:
    page.translated("the cat snored", "el gato SNORED")
    page.click("#term-add")
    page.fill("#terms input", "snored", -2)
    page.fill("#terms input", "roncó")
    page.shows("el gato roncó")
    assert page.count("#output .unsure") == 0
    assert page.kept("glossary") == {"en es": [["snored", "roncó"]]}
    page.open("#text=the%20cat%20snored")
    page.shows("el gato roncó")
    page.click("#output .word", 2)
    assert page.text("#alternatives") == TEXTS["from the glossary"]["en"]
    page.choose("to", "ar")
    page.wait(lambda: page.count("#terms li") == 0)  # another pair has its own terms
    page.choose("to", "es")
    page.click("#terms button")
    page.shows("el gato SNORED")


def test_the_history_is_kept_in_the_browser_only(page: TranslationPage) -> None:
    page.press(*"the cat")
    page.shows("el gato")
    page.press(*" danced")
    page.shows("el gato bailó")
    page.translated("the old dog", "el perro viejo")
    assert [each["source"] for each in page.kept("history")] == ["the old dog", "the cat danced"]
    page.open("")
    page.click("#history-list button", 1)
    page.shows("el gato bailó")
    page.click("#history-clear")
    assert (page.kept("history"), page.count("#history-list li")) == ([], 0)
    page.click("#history-keep")
    page.translated("the dog", "el perro")
    assert page.kept("history") == []
    assert page.run("return document.cookie") == ""


def test_dropped_files_are_translated_and_offered_for_download(page: TranslationPage) -> None:
    page.run(
        "window.made = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.made.push(blob); return make(blob); }"
    )
    page.run("files.open = false")
    page.drop(letter_txt="the cat\nthe dog\n" * 80, photo_jpg="x")
    page.wait(lambda: page.count("#file-list a") == 1)
    assert page.run("return files.open")
    assert page.run(
        "return [document.querySelector('#file-list a').download, document.querySelector('#file-list .done progress').value]"
    ) == ["letter.es.txt", 1]
    content = page.browser.execute_async_script("window.made[0].text().then(arguments[0])")
    assert content == "el gato\nel perro\n" * 80
    assert ".txt" in page.text("#file-list .failed [role=status]")
    page.click("#file-list button")
    assert page.count("#file-list li") == 1


def test_the_progress_of_a_file_is_shown_and_removing_it_stops_asking(page: TranslationPage) -> None:
    spanish = page.server.backends["es"]
    spanish.slow.clear()
    page.drop(letter_txt="the cat\n" * 64 + "the slow dog\n" * 64)
    page.wait(lambda: page.run("return document.querySelector('#file-list progress')?.value") == 0.5)
    assert "50%" in page.text("#file-list [role=status]")
    page.click("#file-list button")
    spanish.slow.set()
    page.wait(lambda: page.server.state.scheduler.running == 0 and not page.server.state.background)
    assert page.count("#file-list li") == 0


def test_the_explorer_is_linked_for_its_own_languages(page: TranslationPage) -> None:
    page.translated("the cat\nthe old dog", "el gato\nel perro viejo")
    assert page.run("return [explore.hidden, explore.href]") == [False, "http://localhost:1/#text=the+cat"]
    page.run("document.querySelectorAll('#output .word')[3].focus()")
    assert page.run("return explore.href").endswith("#text=the+old+dog")
    page.choose("to", "ar")
    page.wait(lambda: page.run("return explore.hidden"))


# The interface -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["es", "ko"])
def test_the_interface_speaks(page: TranslationPage, language: str) -> None:
    page.translated("the cat snored", "el gato SNORED")
    page.choose("language", language)
    page.wait(lambda: page.run("return document.documentElement.lang") == language)
    page.shows("el gato SNORED")
    shown = set(page.run("return [...document.querySelectorAll('[data-t]')].map(each => each.textContent)"))
    labels = set(
        page.run("return [...document.querySelectorAll('[data-t-label]')].map(each => each.ariaLabel)")
    )
    english = {row["en"] for row in TEXTS.values() if row["en"] != row[language]}
    assert not (shown | labels) & english
    assert page.run("return document.getElementById('from').selectedOptions[0].text") == TEXTS["detected"][
        language
    ].format({"es": "Inglés", "ko": "영어"}[language])
    page.open("")
    assert page.run("return document.documentElement.lang") == language


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_switched(page: TranslationPage, system: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": system}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page.open("")
    dark = "return getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 30)'"
    assert page.run(dark) is (system == "dark")
    page.click("#theme")
    assert page.run(dark) is (system == "light")
    assert page.run("return theme.ariaPressed") == str(system == "light").lower()
    page.open("")
    assert page.run(dark) is (system == "light")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_has_enough_contrast(page: TranslationPage, theme: str) -> None:
    page.run("localStorage.setItem('qkv serve theme', JSON.stringify(arguments[0]))", theme)
    page.open("#text=the%20cat%20snored")
    page.shows("el gato SNORED")
    page.drop(photo_jpg="x")
    page.click("#output .word", 1)
    page.wait(lambda: page.count("#alternatives button") > 0)
    found = page.run(CONTRAST)
    assert len(found) > 30
    assert [each for each in found if each[0] < 4.5] == []


@pytest.mark.parametrize("language", ["en", "es", "ko"])
def test_nothing_is_cut_off_on_any_screen(page: TranslationPage, language: str) -> None:
    page.run("localStorage.setItem('qkv serve language', JSON.stringify(arguments[0]))", language)
    page.open("#text=the%20old%20cat%20snored")
    page.shows("el gato viejo SNORED")
    page.run("for (const each of document.querySelectorAll('details')) each.open = true")
    page.click("#term-add")
    bad = """return [...document.querySelectorAll("button, select, input:not([type=checkbox]), textarea, a")]
        .filter(each => each.checkVisibility() && !each.closest(".unseen, .skip")).filter(each => {
            const box = each.getBoundingClientRect(), least = each.matches("a") ? 10 : 24;
            return box.left < 0 || box.right > innerWidth || Math.min(box.width, box.height) < least;
        }).map(each => each.id || each.textContent)"""
    for width in (320, 390, 768, 1280):
        page.resize(width, 844)
        page.click("#output .word", 3)
        page.wait(lambda: page.count("#alternatives button") > 0)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert page.run(bad) == []


def test_every_control_has_a_name_and_a_visible_focus(page: TranslationPage) -> None:
    page.translated("the cat", "el gato")
    page.click("#term-add")
    controls = page.browser.find_elements(
        "css selector", "button, select, input, textarea, summary, a, [role=button]"
    )
    shown = [each for each in controls if page.run("return arguments[0].checkVisibility()", each)]
    assert len(shown) > 15
    assert [each.get_attribute("outerHTML") for each in shown if not each.accessible_name] == []
    page.run("document.activeElement.blur()")
    seen = []
    for _ in range(40):
        page.press("TAB")
        name, outline = page.run(
            """const node = document.activeElement, style = getComputedStyle(node.closest("label.drop, #source-pane") ?? node);
            return [node === document.body ? "" : node.id || node.textContent, style.outlineStyle !== "none" || style.boxShadow !== "none"]"""
        )
        if name in seen:
            break
        seen += [name] if name else []  # after the last control comes the page itself
        assert outline or not name, name
    assert {"source", "from", "to", "swap", "el", "copy", "file-input", "history-keep"} <= set(seen)
    assert "gato" not in seen  # one tab stop for all words


def test_every_documented_shortcut_works(page: TranslationPage) -> None:
    page.translated("the cat", "el gato")
    for letter, focused in [("g", "term-add"), ("y", "history-keep"), ("u", "file-input"), ("i", "source")]:
        page.hold("ALT", letter)
        assert page.focused() == focused
    page.hold("ALT", "c")
    page.wait(lambda: page.text("#copy") == "Copied")
    page.hold("ALT", "s")
    page.shows("the cat")
    page.hold("ALT", "k")
    assert page.run("return help.open")
    assert page.count("#help-keys tr") == 13
    page.press("ESCAPE")
    page.wait(lambda: not page.run("return help.open"))
    page.hold("ALT", "x")
    page.shows("")
    page.write("el perro")
    page.hold("CONTROL", "ENTER")
    page.shows("the dog")


def test_screen_readers_hear_the_translation_and_problems(page: TranslationPage) -> None:
    page.translated("the cat", "el gato")
    page.wait(lambda: page.text("#announcement") == "el gato")
    roles = "return ['announcement', 'problem', 'loading'].map(name => document.getElementById(name).getAttribute('role'))"
    assert page.run(roles) == ["status", "alert", "status"]
    assert page.run("return announcement.lang") == "es"


def test_a_server_with_keys_asks_for_one(browser: Any, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(
        '[me]\nsha256 = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683"\n'
    )  # "key"
    with served(replace(OPTIONS, keys=keys)) as server, opened(browser, server) as page:
        page.write("the cat")
        page.wait(lambda: "API key" in page.problem())
        page.fill("#key", "key")
        page.run("key.dispatchEvent(new Event('change'))")
        page.shows("el gato")
        page.drop(letter_txt="the dog")
        page.wait(lambda: page.count("#file-list a") == 1)
