"""The load of serving.py: clients that send JSON over connections that stay open, and measure how long answers take."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Measured:
    """Seconds of each request, and of the whole part."""

    times: list[float] = field(default_factory=list)
    seconds: float = 0.0
    texts: int = 0
    failed: int = 0

    def quantile(self, share: float) -> float:
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    @property
    def rate(self) -> float:
        return self.texts / self.seconds


class Client:
    """One connection to a server."""

    def __init__(self, port: int, fields: dict[str, str]):
        self.port, self.fields = port, fields
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def translate(self, q: str | Sequence[str]) -> tuple[int, object]:
        return await self.send("/translate", {"q": q, **self.fields})

    async def send(self, path: str, fields: Mapping[str, object]) -> tuple[int, object]:
        reader = await self.write(path, fields)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = int(answer.split(b" ", 2)[1])
        [length] = [line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        content = await reader.readexactly(int(length.split(b":")[1]))
        if b"connection: close" in answer.lower():
            self.close()
        return status, json.loads(content)

    async def write(self, path: str, fields: Mapping[str, object]) -> asyncio.StreamReader:
        if self.reader is None or self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        body = json.dumps(fields).encode()
        head = [
            f"POST {path} HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        self.writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await self.writer.drain()
        return self.reader

    async def leave(self, path: str, fields: Mapping[str, object]) -> None:
        """Send a request, and disconnect before the answer."""
        await self.write(path, fields)
        self.close()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def single(
    port: int, fields: dict[str, str], texts: Iterator[str], seconds: float, clients: int = 1
) -> Measured:
    """So many clients that each send one sentence after another."""
    found = Measured()
    until = time.perf_counter() + seconds

    async def one() -> None:
        client = Client(port, fields)
        while time.perf_counter() < until:
            text, began = next(texts), time.perf_counter()
            status, _ = await client.translate(text)
            found.times.append(time.perf_counter() - began)
            found.texts += status == 200
            found.failed += status != 200
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    found.seconds = time.perf_counter() - began
    return found


async def arrays(port: int, fields: dict[str, str], texts: Iterator[str], size: int, count: int) -> Measured:
    """Arrays of sentences, one after another."""
    found, client = Measured(), Client(port, fields)
    began = time.perf_counter()
    for _ in range(count):
        part, start = [next(texts) for _ in range(size)], time.perf_counter()
        status, _ = await client.translate(part)
        found.times.append(time.perf_counter() - start)
        found.texts += size * (status == 200)
        found.failed += status != 200
    found.seconds = time.perf_counter() - began
    client.close()
    return found


async def beside_array(port: int, fields: dict[str, str], texts: Iterator[str], size: int) -> Measured:
    """Single sentences while a large array is being translated."""
    array = asyncio.ensure_future(arrays(port, fields, texts, size, 1))
    await asyncio.sleep(0.05)
    found, client = Measured(), Client(port, fields)
    while not array.done():
        began = time.perf_counter()
        status, _ = await client.translate(next(texts))
        found.times.append(time.perf_counter() - began)
        found.texts += status == 200
        found.failed += status != 200
    await array
    found.seconds = array.result().seconds
    client.close()
    return found
