"""What the tests do with the explorer's page."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from serving import Served

READY = """return document.body && !document.body.classList.contains("busy") && !document.getElementById("old")
    && (document.getElementById("station")?.childElementCount > 0
        || document.getElementById("problem")?.hidden === false)"""
MARK = "document.getElementById('station').prepend(Object.assign(document.createElement('i'), {id: 'old'}))"
CELLS = """const grid = document.querySelectorAll("#station table.grid")[arguments[0]];
    return [...grid.querySelectorAll("td[data-row]")].map(c => [+c.dataset.row, +c.dataset.column, c.dataset.value])"""


class Page:
    def __init__(self, browser: Any, address: str):
        self.browser, self.address = browser, address

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def open(self, cursor: str) -> None:
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}{cursor}")
        self.ready()

    def go(self, **cursor: Any) -> None:
        """To a place, as a link would: the page is ready when it has drawn anew."""
        parts = "&".join(f"{name}={quote(str(value))}" for name, value in cursor.items())
        self.run(
            f"{MARK}; location.hash = arguments[0]; window.dispatchEvent(new Event('hashchange'))", parts
        )
        self.ready()

    def click(self, selector: str, place: int = 0) -> None:
        """On what draws the station anew."""
        self.run(f"{MARK}; document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)
        self.ready()

    def ready(self) -> None:
        self.wait(lambda: bool(self.run(READY)))

    def wait(self, holds: Callable[[], bool], seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(
                    f"waited {seconds} seconds for nothing: {self.problem()!r}, {self.output()!r}"
                )
            time.sleep(0.03)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def output(self) -> str:
        return self.text("#output")

    def problem(self) -> str:
        return self.text("#problem")

    def title(self) -> str:
        return self.text("#station-title")

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def cells(self, grid: int = 0) -> dict[tuple[int, int], float]:
        return {
            (row, column): float(value.replace("Infinity", "inf"))
            for row, column, value in self.run(CELLS, grid)
        }

    def press(self, *keys: str) -> None:
        """On whatever has the focus; keys that write nothing by their names, such as PAGE_DOWN."""
        from selenium.webdriver import ActionChains, Keys

        chain = ActionChains(self.browser)
        for key in keys:
            chain.send_keys(getattr(Keys, key, key))
        chain.perform()

    def write(self, text: str) -> None:
        """Into the field, as if typed at once."""
        script = """const field = document.getElementById("text"); field.value = arguments[0];
            field.dispatchEvent(new Event("input"))"""
        self.run(script, text)
        self.ready()


@contextmanager
def opened(browser: Any, service: Served) -> Iterator[Page]:
    """A fresh page that sent requests only to this service and raised no error."""
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    found = Page(browser, f"http://localhost:{service.port}/")
    found.resize(1366, 900)
    kept = {"origin": found.address.rstrip("/"), "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", kept)  # language and theme of the test before
    found.open("")
    yield found
    asked = addresses(browser)
    assert asked
    assert [
        each for each in asked if not each.startswith((found.address, "data:", "about:", "file:", "blob:"))
    ] == []
    refusals = ("status of 4", "favicon")  # a refusal that was asked for is no fault of the page
    faults = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert [each["message"] for each in faults if not any(part in each["message"] for part in refusals)] == []


def addresses(browser: Any) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
