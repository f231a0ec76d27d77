"""A server whose models are tables, for tests of the interfaces: every text has one translation in 34 languages.

    python tests/stub_server.py 5001

`Sessions` understands the headers with which DeepL's own test suites make a server slow, silent or busy.
"""

import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.segments import has_letters
from qkv.families.translator.translations import Translation
from qkv.server.app import application
from qkv.server.backend import Part
from qkv.server.detection import Detected
from qkv.server.keys import Account
from qkv.server.models import Leg, Models, Served
from qkv.server.options import ServeOptions
from qkv.server.state import State
from qkv.text.protect import protected_spans, remove_spans

TEXTS = {
    "ar": "شعاع البروتون", "bg": "протонен лъч", "cs": "protonový paprsek", "da": "protonstråle", "de": "Protonenstrahl",
    "el": "δέσμη πρωτονίων", "en": "proton beam", "es": "haz de protones", "et": "prootonikiirgus", "fi": "protonisäde",
    "fr": "faisceau de protons", "hu": "protonnyaláb", "id": "berkas proton", "it": "fascio di protoni", "ja": "陽子ビーム",
    "ko": "양성자 빔", "lt": "protonų spindulys", "lv": "protonu staru kūlis", "nb": "protonstråle", "nl": "protonenbundel",
    "pl": "wiązka protonów", "pt": "feixe de prótons", "ro": "fascicul de protoni", "ru": "протонный луч",
    "sk": "protónový lúč", "sl": "protonski žarek", "sv": "protonstråle", "tr": "proton ışını", "uk": "протонний пучок",
    "zh": "质子束",
}  # fmt: skip


class StubBackend:
    """Translates every line into one phrase, or into what the glossary says."""

    has_confidence = True

    def __init__(self, target: str, seconds: float = 0.0):
        self.target, self.seconds = target, seconds
        self.identity = f"stub-{target}"
        self.batches: list[int] = []

    def split(self, text: str, options: TranslationOptions) -> list[Part]:
        lines = text.splitlines(keepends=True) or [text]
        return [self.part(line, options) for line in lines]

    def part(self, line: str, options: TranslationOptions) -> Part:
        visible = remove_spans(line, protected_spans(line, options.protect))
        if has_letters(visible):
            return Part(line, options, len(line.split()) + 1)
        return Part(line, options, 0, copied=(Translation(text=line.strip(), score=0.0),))

    def translate(self, parts: Sequence[Part], *, words: bool, alone: bool) -> list[list[Translation]]:
        self.batches.append(len(parts))
        return [self.one(part) for part in parts]

    def one(self, part: Part) -> list[Translation]:
        terms = dict(part.options.glossary.terms)
        text = part.text.strip()
        best = terms.get(text, TEXTS[self.target])
        found = [
            Translation(text=best, score=-0.1, log_probabilities=(-0.1,), confidence=0.9, alignment=[(0, 0)])
        ]
        count = part.options.num_hypotheses
        return [
            replace(found[0], text=best if not n else f"{best} {n}", score=-0.1 - n) for n in range(count)
        ]

    def alternatives(
        self, text: str, prefix: str, count: int, options: TranslationOptions
    ) -> list[Translation]:
        return [Translation(text=f"{prefix} {n}", score=-float(n)) for n in range(count)]


class StubDetector:
    def rank(self, text: str, languages: Collection[str]) -> list[Detected]:
        known = next((code for code, phrase in TEXTS.items() if text.startswith(phrase)), "en")
        others = sorted(set(languages) - {known})
        return [
            *([Detected(known, 0.99)] if known in languages else []),
            *(Detected(code, 0.001) for code in others),
        ]


def stub_models(languages: Sequence[str] = tuple(TEXTS)) -> Models:
    backends = {code: StubBackend(code) for code in languages}
    pairs = {(a, b): Leg(backends[b]) for a in languages for b in languages if a != b}
    return Models.of([Served("stub", None, pairs)])


def stub_state(options: ServeOptions | None = None, languages: Sequence[str] = tuple(TEXTS)) -> State:
    state = State(options or ServeOptions(log_format="none"), detector=StubDetector())
    state.models, state.ready = stub_models(languages), True
    return state


class AnyKey:
    """Every key has an account, except the key "invalid"."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}

    def find(self, key: str) -> Account | None:
        return None if key == "invalid" else self.accounts.setdefault(key, Account(key))


class Sessions:
    """The headers mock-server-session-* of DeepL's test suites."""

    def __init__(self, app: ASGIApp, state: State):
        self.app, self.state = app, state
        self.left: dict[str, dict[str, int]] = {}
        self.created: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope.get("headers", [])}
        session = headers.get("mock-server-session")
        if scope["type"] != "http" or session is None:
            await self.app(scope, receive, send)
            return
        left = self.left.setdefault(session, numbers_in(headers))
        self.limit_account(headers, left)
        if left.get("no-response-count", 0) > 0:
            left["no-response-count"] -= 1
            await asyncio.sleep(60)
            return
        if left.get("429-count", 0) > 0 and "/translate" in scope["path"]:
            left["429-count"] -= 1
            await send({"type": "http.response.start", "status": 429, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        slow = left.get("doc-queue-time", 0) + left.get("doc-translate-time", 0)
        if slow and scope["path"].startswith("/v2/document"):
            await self.slow_document(scope, receive, send, left, slow / 1000)
            return
        await self.app(scope, receive, send)

    def limit_account(self, headers: dict[str, str], left: dict[str, int]) -> None:
        key = headers.get("authorization", "").partition(" ")[2]
        accounts = getattr(self.state.keys, "accounts", {})
        if key not in accounts and ("init-character-limit" in left or "init-document-limit" in left):
            accounts[key] = Account(
                key, characters=left.get("init-character-limit"), documents=left.get("init-document-limit")
            )

    async def slow_document(
        self, scope: Scope, receive: Receive, send: Send, left: dict[str, int], slow: float
    ) -> None:
        """Pretend that a document is queued and translated for some time after its upload."""
        name = scope["path"].removeprefix("/v2/document").strip("/").split("/")[0]
        now = asyncio.get_running_loop().time()
        job = self.state.jobs.get(name) if name else None
        if job is None:
            await self.app(scope, receive, send)
            return
        age, real = now - self.created.setdefault(name, now), job.status
        if age < slow:
            job.status = "queued" if 1000 * age < left.get("doc-queue-time", 0) else "translating"
        try:
            await self.app(scope, receive, send)
        finally:
            job.status = real


def numbers_in(headers: dict[str, str]) -> dict[str, int]:
    prefix = "mock-server-session-"
    return {name[len(prefix) :]: int(value) for name, value in headers.items() if name.startswith(prefix)}


def suite_app(options: ServeOptions) -> ASGIApp:
    """The application that DeepL's suites talk to."""
    state = stub_state(options)
    keys: Any = AnyKey()
    state.keys = keys
    return Sessions(application(state), state)


async def collected(app: ASGIApp, scope: Scope) -> list[Message]:
    """The messages that an application sends, for tests without a client."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


if __name__ == "__main__":
    found = suite_app(ServeOptions(log_format="none", max_characters=200_000, max_file=50_000_000))
    uvicorn.run(found, host="localhost", port=int(sys.argv[1]), log_level="warning")
