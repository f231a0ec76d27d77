"""The scheduler: results of the right segment, cancelled work that is dropped, bounded queues, isolated failures."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from stub_server import StubBackend

from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Translation
from qkv.server.backend import Part
from qkv.server.scheduler import BusyError, Scheduler


class Echo(StubBackend):
    """Gives the text back, and waits for a gate first."""

    def __init__(self) -> None:
        super().__init__("de")
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.seen: list[list[str]] = []

    def translate(self, parts: Sequence[Part], *, words: bool, alone: bool) -> list[list[Translation]]:
        self.seen.append([part.text for part in parts])
        self.entered.set()
        assert self.gate.wait(30)
        if any(part.text == "broken" for part in parts):
            raise ZeroDivisionError("broken")
        return [[Translation(text=part.text.upper(), score=0.0)] for part in parts]


def parts(*texts: str) -> list[Part]:
    return [Part(text, TranslationOptions(), len(text)) for text in texts]


@contextmanager
def scheduler(workers: int = 1, tokens: int = 1_000) -> Iterator[Scheduler]:
    found = Scheduler(workers, tokens, patience=30.0)
    try:
        yield found
    finally:
        found.close()


async def texts_of(found: Scheduler, backend: Echo, *texts: str) -> list[str]:
    return [row[0].text for row in await found.translate(backend, parts(*texts), words=False)]


def test_every_segment_gets_its_own_result() -> None:
    async def main() -> None:
        with scheduler(workers=2, tokens=100_000) as found:
            backend = Echo()
            words = [[f"w{row} {n}" for n in range(row)] for row in range(1, 30)]
            results = await asyncio.gather(*(texts_of(found, backend, *row) for row in words))
            assert results == [[text.upper() for text in row] for row in words]
            assert found.queued == 0
            assert found.jobs == []

    asyncio.run(main())


def test_single_sentences_overtake_a_long_array() -> None:
    async def main() -> None:
        with scheduler(tokens=100_000) as found:
            backend = Echo()
            backend.gate.clear()
            array = asyncio.ensure_future(texts_of(found, backend, *(f"array {n}" for n in range(100))))
            await asyncio.to_thread(backend.entered.wait, 30)
            single = asyncio.ensure_future(texts_of(found, backend, "single"))
            await asyncio.sleep(0)  # it is queued
            backend.gate.set()
            assert await single == ["SINGLE"]
            assert backend.seen[1] == ["single"]
            assert len(await array) == 100

    asyncio.run(main())


def test_work_of_a_cancelled_request_is_dropped() -> None:
    async def main() -> None:
        with scheduler() as found:
            backend = Echo()
            backend.gate.clear()
            first = asyncio.ensure_future(texts_of(found, backend, "first"))
            await asyncio.to_thread(backend.entered.wait, 30)
            gone = asyncio.ensure_future(texts_of(found, backend, "gone 1", "gone 2"))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            backend.gate.set()
            assert await first == ["FIRST"]
            assert await texts_of(found, backend, "next") == ["NEXT"]
            assert not any("gone" in text for batch in backend.seen for text in batch)
            assert found.counts.cancelled == 2
            assert found.queued == 0

    asyncio.run(main())


def test_a_full_queue_rejects_and_documents_wait() -> None:
    async def main() -> None:
        with scheduler(tokens=10) as found:
            backend = Echo()
            backend.gate.clear()
            first = asyncio.ensure_future(texts_of(found, backend, "first"))
            await asyncio.to_thread(backend.entered.wait, 30)
            with pytest.raises(BusyError):
                await texts_of(found, backend, "much too much text")
            patient = asyncio.ensure_future(
                found.translate(backend, parts("much too much text"), words=False, patient=True)
            )
            await asyncio.sleep(0)
            backend.gate.set()
            assert await first == ["FIRST"]
            assert (await patient)[0][0].text == "MUCH TOO MUCH TEXT"

    asyncio.run(main())


def test_a_segment_that_fails_fails_alone() -> None:
    async def main() -> None:
        with scheduler() as found:
            backend = Echo()
            backend.gate.clear()
            first = asyncio.ensure_future(texts_of(found, backend, "first"))
            await asyncio.to_thread(backend.entered.wait, 30)
            both = [asyncio.ensure_future(texts_of(found, backend, text)) for text in ("good", "broken")]
            await asyncio.sleep(0)
            backend.gate.set()
            results = await asyncio.gather(first, *both, return_exceptions=True)
            assert results[:2] == [["FIRST"], ["GOOD"]]
            assert isinstance(results[2], ZeroDivisionError)
            assert sorted(backend.seen[1]) == ["broken", "good"]

    asyncio.run(main())
