"""Serving over HTTP: qkv serve, and a plain starlette + CTranslate2 server, on the same weights with equal beams.

    python benchmarks/serving.py --quick
    python benchmarks/serving.py --libretranslate PYTHON
    python benchmarks/serving.py --model runs/zh-en --lines FILE --libretranslate PYTHON

Without --model it serves a base model (6 + 6 blocks, width 512, FFN width 2,048) that needs no training: it copies its source
(copying_model.py), and costs what a trained one costs. PYTHON is an interpreter that has libretranslate 1.9.6. The load generator shares the cores, so the table also has sentences per
second of the server's processor time. Systems take turns. The last line compares with the CTranslate2 server: p50 of one
client (above 1: ours is faster) and sentences per second of 16 clients.
"""

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from copying_model import BASE, captions, save_copying_model
from rich.console import Console
from rich.table import Table
from serving_load import Measured, arrays, beside_array, single

HERE = Path(__file__).parent
CORES = len(os.sched_getaffinity(0))
CLIENTS = 16
LARGE = 1_000


@dataclass
class Result:
    """The turns of one system. Times are medians over turns."""

    parts: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.parts.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> float:
        return median(self.parts[name]) if name in self.parts else float("nan")


@dataclass
class System:
    name: str
    command: Callable[[int], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    result: Result = field(default_factory=Result)


class Running:
    """A server process that is ready."""

    def __init__(self, system: System):
        self.system = system
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            system.command(self.port),
            env={**os.environ, **system.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        began = time.perf_counter()
        while not self.is_ready():
            if self.process.poll() is not None or time.perf_counter() - began > 120:
                error = self.process.stderr.read().decode()[-800:] if self.process.stderr else ""
                raise SystemExit(f"{system.name} did not start: {error}")
            time.sleep(0.05)
        system.result.add("start", time.perf_counter() - began)

    def is_ready(self) -> bool:
        path = "readyz" if "qkv" in self.system.name else "health"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def processes(self) -> list[int]:
        """The process and its descendants."""
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += map(int, task.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        ticks = 0
        for pid in self.processes():
            values = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(values[11]) + int(values[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Proportional set size: shared pages count once."""
        total = 0
        for pid in self.processes():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        return total / 1000

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def systems_of(options: argparse.Namespace, exported: Path) -> list[System]:
    beam = str(options.beam)
    ours = [sys.executable, "-m", "qkv", "serve", str(options.model), "--beam-size", beam, "--cache-size", "0", "--max-texts", "2000",
            "--max-body", "10000000", "--log-format", "none", "--timeout", "300", "--port"]  # fmt: skip
    peer = [
        sys.executable,
        str(HERE / "serving_peer.py"),
        str(exported),
        str(options.model),
        beam,
        str(CORES),
    ]
    found = [
        System("qkv serve", lambda port: [*ours, str(port)]),
        System("starlette + CTranslate2", lambda port: [*peer, str(port)]),
    ]
    if options.libretranslate:
        script = [
            options.libretranslate,
            str(HERE / "serving_libretranslate.py"),
            str(exported),
            str(options.model),
        ]
        for workers in (0, 1, 2, 4):
            name = f"LibreTranslate, {f'gunicorn {workers}' if workers else 'waitress'}"
            command = [*script, str(workers), options.source, options.target]
            found.append(System(name, lambda port, command=command: [*command, str(port)], {  # type: ignore[misc]
                "ARGOS_BEAM_SIZE": beam, "ARGOS_INTRA_THREADS": "1", "ARGOS_INTER_THREADS": str(CORES)}))  # fmt: skip
    return found


async def measure(running: Running, texts: Iterator[str], options: argparse.Namespace) -> None:
    port, result = running.port, running.system.result
    fields = {"source": options.source, "target": options.target}
    await single(port, fields, texts, 0.5)  # warm up
    one = await single(port, fields, texts, options.seconds)
    result.add("p50", one.quantile(0.5))
    before = running.cpu_seconds()
    many = await single(port, fields, texts, options.seconds, CLIENTS)
    result.add("rate", many.rate)
    result.add("p99", many.quantile(0.99))
    result.add("per_cpu", many.texts / max(running.cpu_seconds() - before, 0.01))
    check(running, one, many)
    if options.quick:
        return
    twenty = await arrays(port, fields, texts, 20, 8)
    beside = await beside_array(port, fields, texts, LARGE)
    result.add("twenty", twenty.quantile(0.5))
    result.add("beside", beside.quantile(0.5))
    result.add("memory", running.megabytes())
    check(running, twenty, beside)


def check(running: Running, *found: Measured) -> None:
    if any(each.failed for each in found):
        raise SystemExit(f"{running.system.name}: {sum(each.failed for each in found)} requests failed.")


def lines_for(options: argparse.Namespace) -> Iterator[str]:
    """Texts that differ, so that no cache helps."""
    if options.lines:
        known = [line.split("\t")[0] for line in options.lines.read_text(encoding="utf-8").splitlines()]
    elif options.made:
        known = captions(20_000, seed=4)
    else:
        from qkv.data.worlds import pairs

        known = [pair.source for pair in pairs(options.source, options.target, 4_000, part="test", seed=1)]  # type: ignore[arg-type]
    for turn in itertools.count():
        yield from (line if not turn else f"{line} {turn}" for line in known if line.strip())


def show(systems: list[System]) -> None:
    names = {"p50": ("1 client, p50", 1e3, "ms"), "rate": ("16 clients", 1, "/s"), "p99": ("p99", 1e3, "ms"), "per_cpu": ("per CPU second", 1, ""),
             "twenty": ("array of 20, p50", 1e3, "ms"), "beside": ("during an array of 1,000, p50", 1e3, "ms"),
             "memory": ("memory", 1, "MB"), "start": ("start", 1, "s")}  # fmt: skip
    table = Table("server", *(title for title, _, _ in names.values()))
    for system in systems:
        table.add_row(
            system.name,
            *(f"{factor * system.result[name]:.1f} {unit}" for name, (_, factor, unit) in names.items()),
        )
    Console(highlight=False, width=160).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="bundle of a translator; by default one that is made here")
    parser.add_argument("--lines", type=Path, help="sentences; by default made-up ones")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="end within 50 seconds: two servers, two turns")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each part")
    parser.add_argument("--libretranslate", metavar="PYTHON", help="an interpreter with libretranslate")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 2, 2.5
    with tempfile.TemporaryDirectory() as folder:
        options.made = options.model is None
        if options.made:
            options.model = Path(folder) / "bundle"
            save_copying_model(options.model, shape=BASE)
        compare(options, Path(folder))


def compare(options: argparse.Namespace, folder: Path) -> None:
    languages = json.loads((options.model / "config.json").read_text(encoding="utf-8"))["languages"]
    options.source, options.target = languages["source"], languages["target"]
    exported = folder / "ctranslate2"
    export = ["export", str(options.model), "--to", "ctranslate2", "--output", str(exported)]
    subprocess.run([sys.executable, "-m", "qkv", *export], check=True, capture_output=True)
    systems, texts = systems_of(options, exported), lines_for(options)
    for _ in range(options.rounds):
        for system in systems:
            with Running(system) as running:
                asyncio.run(measure(running, texts, options))
    show(systems)
    ours, peer = (system.result for system in systems[:2])
    print(f"ratio p50 {peer['p50'] / ours['p50']:.2f} throughput {ours['rate'] / peer['rate']:.2f}")


if __name__ == "__main__":
    main()
