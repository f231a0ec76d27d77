"""Mixed load on a server for a long time: memory must not grow, and every answer must be one that a client can expect.

    python benchmarks/serving_soak.py --model runs/demo --requests 100000
    python benchmarks/serving_soak.py --model runs/demo --minutes 30

Single sentences, arrays, HTML, detection, documents, wrong requests, and clients that disconnect before the answer comes.
The last line has the memory after a tenth of the requests and at the end.
"""

import argparse
import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from serving import Running, System
from serving_load import Client

CLIENTS = 16
EXPECTED = {200, 400, 404, 413, 415, 429}


async def one(client: Client, rng: random.Random, texts: Iterator[str], statuses: Counter[int]) -> None:
    kind = rng.random()
    text = next(texts)
    if kind < 0.70:
        status, _ = await client.translate(text)
    elif kind < 0.78:
        status, _ = await client.translate([next(texts) for _ in range(rng.randint(2, 20))])
    elif kind < 0.84:
        status, _ = await client.send(
            "/translate", {**client.fields, "q": f"<p>{text} <b>{text}</b></p>", "format": "html"}
        )
    elif kind < 0.89:
        status, _ = await client.send(
            "/translate", {**client.fields, "q": text, "source": "auto", "alternatives": 2}
        )
    elif kind < 0.93:
        status, _ = await client.send(
            "/v2/translate", {"text": [text], "target_lang": client.fields["target"]}
        )
    elif kind < 0.96:
        wrong = rng.choice(
            [{}, {"q": text}, {"q": 1, **client.fields}, {**client.fields, "q": text, "target": "zz"}]
        )
        status, _ = await client.send("/translate", wrong)
    elif kind < 0.98:
        await client.leave("/translate", {**client.fields, "q": [next(texts) for _ in range(40)]})
        status = 499
    else:
        status, _ = await client.send(
            "/v2/glossaries", {"name": "x", "source_lang": "en", "entries": "a", "target_lang": "x"}
        )
    statuses[status] += 1


async def load(
    running: Running, options: argparse.Namespace, texts: Iterator[str]
) -> tuple[Counter[int], float, float]:
    statuses: Counter[int] = Counter()
    until = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    first = 0.0

    async def work(number: int) -> None:
        nonlocal first
        client = Client(running.port, {"source": options.source, "target": options.target})
        rng = random.Random(number)
        while statuses.total() < options.requests and time.monotonic() < until:
            await one(client, rng, texts, statuses)
            enough = (
                statuses.total() >= options.requests / 10 or time.monotonic() > until - 54 * options.minutes
            )
            if not first and enough:
                first = running.megabytes()
        client.close()

    await asyncio.gather(*(work(number) for number in range(CLIENTS)))
    return statuses, first, running.megabytes()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=0.0)
    options = parser.parse_args()
    languages = json.loads((options.model / "config.json").read_text(encoding="utf-8"))["languages"]
    options.source, options.target = languages["source"], languages["target"]
    import sys

    from qkv.data.worlds import pairs

    known = [pair.source for pair in pairs(options.source, options.target, 20_000, part="test", seed=1)]
    texts = (text if not turn else f"{text} {turn}" for turn in itertools.count() for text in known)
    command = [
        sys.executable,
        "-m",
        "qkv",
        "serve",
        str(options.model),
        "--log-format",
        "none",
        "--cache-size",
        "8",
        "--port",
    ]
    with Running(System("qkv serve", lambda port: [*command, str(port)])) as running:
        statuses, first, last = asyncio.run(load(running, options, texts))
    unexpected = {status: count for status, count in statuses.items() if status not in EXPECTED | {499}}
    print(
        f"{statuses.total():,} requests by status: {dict(sorted(statuses.items()))}; unexpected: {unexpected or 'none'}"
    )
    print(f"memory {first:.1f} MB {last:.1f} MB growth {100 * (last / first - 1):.2f} %")


if __name__ == "__main__":
    main()
