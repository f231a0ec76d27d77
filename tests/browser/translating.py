"""A server with small dictionaries behind the real page, and what the tests do with that page."""

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from browsing import Page, addresses

from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation, Word
from qkv.listening import listen
from qkv.runtime.running import Running
from qkv.server.app import application
from qkv.server.backend import Part
from qkv.server.detection import Detected
from qkv.server.models import Leg, Models, Served
from qkv.server.options import ServeOptions
from qkv.server.state import State

WORDS = {
    "es": {"the": "el", "old": "viejo", "cat": "gato", "danced": "bailó", "dog": "perro", "slow": "lento"},
    "en": {"el": "the", "viejo": "old", "gato": "cat", "bailó": "danced", "perro": "dog"},
    "ar": {"the": "ال", "cat": "قطة"},
}
LOG_PROBABILITY = {True: -0.05, False: -1.6}  # of words that are in the dictionary, and of others


@dataclass(eq=False)
class Dictionary:
    """Translates word by word. Spanish adjectives follow their nouns, other words are shouted and unlikely."""

    target: str
    asked: list[str] = field(default_factory=list)
    slow: threading.Event = field(default_factory=threading.Event)
    """Texts with the word "slow" wait for this."""
    has_confidence = True

    @property
    def identity(self) -> str:
        return self.target

    def split(self, text: str, options: TranslationOptions) -> list[Part]:
        lines = text.splitlines(keepends=True) or [text]
        return [
            Part(
                line,
                options,
                len(line.split()) + 1,
                copied=None if line.strip() else (Translation(text="", score=0.0),),
            )
            for line in lines
        ]

    def translate(self, parts: Sequence[Part], *, words: bool, alone: bool) -> list[list[Translation]]:
        for part in parts:
            self.asked.append(part.text)
            if "slow" in part.text:
                self.slow.wait(30)
        return [[self.one(part.text.split(), dict(part.options.glossary.terms))] for part in parts]

    def one(self, source: list[str], terms: dict[str, str]) -> Translation:
        order = list(range(len(source)))
        for place in range(len(source) - 1):
            if source[place] == "old":
                order[place : place + 2] = [place + 1, place]
        known = {**WORDS[self.target], **terms}
        words = tuple(
            Word(known.get(source[i], source[i].upper()), LOG_PROBABILITY[source[i] in known]) for i in order
        )
        return Translation(
            text=" ".join(word.text for word in words),
            score=-0.1,
            words=words,
            confidence=0.9,
            alignment=sorted((one, other) for other, one in enumerate(order)),
        )

    def alternatives(
        self, text: str, prefix: str, count: int, options: TranslationOptions
    ) -> list[Translation]:
        best = self.one(text.split(), dict(options.glossary.terms))
        rest = best.text.split()[len(prefix.split()) + 1 :]
        texts = [best.text, *(" ".join([*prefix.split(), each, *rest]) for each in ("felino", "minino"))]
        words = [tuple(Word(word, -0.05) for word in each.split()) for each in texts]
        return [
            Translation(text=each, score=-1.0, words=own, confidence=0.5, alignment=best.alignment)
            for each, own in zip(texts, words, strict=True)
        ]


class Detector:
    def rank(self, text: str, languages: Collection[str]) -> list[Detected]:
        found = "es" if set(text.split()) & set(WORDS["en"]) else "en"
        return [Detected(found, 0.99), *(Detected(code, 0.0) for code in languages if code != found)]


@dataclass(frozen=True)
class Server:
    port: int
    state: State
    backends: dict[str, Dictionary]

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}/"


@contextmanager
def served(options: ServeOptions) -> Iterator[Server]:
    backends = {code: Dictionary(code) for code in WORDS}
    pairs = {("en", "es"): backends["es"], ("es", "en"): backends["en"], ("en", "ar"): backends["ar"]}
    state = State(options, detector=Detector(), running=Running(threads=2))
    models = [
        Served(f"{one}-{other}", None, {(one, other): Leg(each)}) for (one, other), each in pairs.items()
    ]
    state.models, state.ready = Models.of(models), True
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(application(state), log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Server(listener.getsockname()[1], state, backends)
    finally:
        for each in backends.values():
            each.slow.set()
        server.should_exit = True
        thread.join(10)
        listener.close()


class TranslationPage(Page):
    def __init__(self, browser: Any, server: Server):
        super().__init__(browser, server.address)
        self.server = server

    def ready(self) -> None:
        self.wait(lambda: bool(self.run("return document.body?.classList.contains('starting') === false")))

    def write(self, text: str) -> None:
        """Into the field, as if pasted."""
        script = """const field = document.getElementById("source"); field.value = arguments[0];
            field.dispatchEvent(new Event("input", { bubbles: true }))"""
        self.run(script, text)

    def translated(self, text: str, output: str) -> None:
        self.write(text)
        self.shows(output)

    def shows(self, output: str) -> None:
        self.wait(
            lambda: (
                self.output() == output
                and self.run("return document.getElementById('output').ariaBusy") == "false"
            )
        )

    def lit(self, root: str) -> list[str]:
        return list(
            self.run(
                "return [...document.querySelectorAll(arguments[0] + ' .lit')].map(each => each.textContent)",
                root,
            )
        )

    def focused(self) -> str:
        return str(self.run("return document.activeElement.id || document.activeElement.textContent"))

    def choose(self, name: str, value: str) -> None:
        script = "const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))"
        self.run(script, name, value)

    def fill(self, selector: str, text: str, place: int = -1) -> None:
        script = """const field = [...document.querySelectorAll(arguments[0])].at(arguments[2]); field.value = arguments[1];
            field.dispatchEvent(new Event("input", { bubbles: true }))"""
        self.run(script, selector, text, place)

    def click(self, selector: str, place: int = 0) -> None:
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)

    def kept(self, name: str) -> Any:
        return self.run("return JSON.parse(localStorage.getItem('qkv serve ' + arguments[0]))", name)

    def hold(self, *keys: str) -> None:
        """Press keys together, such as ALT and s."""
        from selenium.webdriver import ActionChains, Keys

        *held, last = (getattr(Keys, key, key) for key in keys)
        chain = ActionChains(self.browser)
        for key in held:
            chain.key_down(key)
        chain.send_keys(last)
        for key in held:
            chain.key_up(key)
        chain.perform()

    def drop(self, **files: str) -> None:
        """Files by their names without the extension: `letter_txt="…"` is letter.txt."""
        script = """const data = new DataTransfer();
            for (const [name, text] of Object.entries(arguments[0])) data.items.add(new File([text], name));
            for (const kind of ["dragover", "drop"]) {
                document.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
            }"""
        self.run(script, {name.replace("_", "."): text for name, text in files.items()})


@contextmanager
def opened(browser: Any, server: Server) -> Iterator[TranslationPage]:
    """A fresh page that sent requests only to its server and raised no error."""
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    page = TranslationPage(browser, server)
    page.resize(1280, 800)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    kept = {"origin": page.address.rstrip("/"), "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", kept)
    page.open("")
    yield page
    asked = addresses(browser)
    assert asked
    assert [each for each in asked if not each.startswith((page.address, "about:", "blob:"))] == []
    faults = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert [
        each for each in faults if "status of 4" not in each and "ERR_INTERNET_DISCONNECTED" not in each
    ] == []
