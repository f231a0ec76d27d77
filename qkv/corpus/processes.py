"""A judge in several processes. They are plain programs, so the caller's main module is not run again.

A message is JSON and arrays, in the format of safetensors, after its length.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

import numpy as np

from qkv.corpus.held_out import HeldOut
from qkv.corpus.judge import Judge, Judged, Languages, Texts
from qkv.corpus.settings import CleanSettings
from qkv.environment import path_of_children
from qkv.errors import ProcessEndedError, QkvError

WAITING = 4  # parts per process that are read ahead
# The folders of the caller's path come last, so that none of their modules hides another.
PROGRAM = (
    "import json, sys; sys.path += [each for each in json.loads(sys.argv[1]) if each not in sys.path]; "
    "from qkv.corpus.processes import serve; serve()"
)
GRACE = 10.0  # seconds in which a process that closed its output must end
Arrays = Mapping[str, np.ndarray]


def judge_in_processes(judge: Judge, parts: Iterable[Texts], processes: int) -> Iterator[Judged]:
    """The results in the order of the parts. Only a few parts are in memory at a time."""
    if processes <= 1:
        yield from map(judge, parts)
        return
    workers = [Worker(judge) for _ in range(processes)]
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def compute(part: Texts) -> Judged:
        worker = free.get()
        try:
            return worker.judge(part)
        finally:
            free.put(worker)

    try:
        with ThreadPoolExecutor(processes) as threads:
            waiting: deque[Future[Judged]] = deque()
            for part in parts:
                waiting.append(threads.submit(compute, part))
                if len(waiting) > WAITING * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        for worker in workers:
            worker.end()


class Worker:
    """A process that judges one part after another. The judge is sent once: it may hold large test sets."""

    def __init__(self, judge: Judge):
        # -P keeps the current folder off the path: it may hold files of any name.
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                PROGRAM,
                json.dumps([os.path.abspath(each) for each in sys.path if each]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path_of_children()},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        with suppress(OSError):  # a process that has ended is reported with its first part
            send(self.input, facts_of(judge), arrays_of(judge.held_out))

    def judge(self, part: Texts) -> Judged:
        try:
            send(self.input, list(part), {})
            message = receive(self.output)
        except OSError:
            message = None
        if message is None:
            raise ProcessEndedError(f"a worker process ended too early, with {self.ending()}.")
        failure, arrays = message
        if failure:
            raise QkvError(failure)
        return Judged(**arrays)

    def ending(self) -> str:
        """How the process ended, for a message."""
        with suppress(OSError):
            self.input.close()
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "its output closed"
        return f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.strsignal(-code)})"

    def end(self) -> None:
        for stream in (self.input, self.output):
            with suppress(OSError):
                stream.close()
        self.process.wait()


def serve() -> None:
    """The program of a process: receive the judge, then judge parts until the input ends."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    first = receive(sys.stdin.buffer)
    if first is None:
        return
    judge = judge_from(*first)
    while (message := receive(sys.stdin.buffer)) is not None:
        try:
            found = judge([(source, target) for source, target in message[0]])
            send(answers, "", {field.name: getattr(found, field.name) for field in dataclasses.fields(found)})
        except Exception as error:  # reported where the result is needed
            send(answers, str(error) or type(error).__name__, {})


# Messages ---------------------------------------------------------------------------------------------


def facts_of(judge: Judge) -> dict[str, Any]:
    return {"settings": dataclasses.asdict(judge.settings), "languages": dataclasses.asdict(judge.languages)}


def arrays_of(held_out: HeldOut) -> Arrays:
    return {
        "sources": np.array(sorted(held_out.sources), np.uint64),
        "targets": np.array(sorted(held_out.targets), np.uint64),
        "signatures": held_out.signatures,
    }


def judge_from(facts: Any, arrays: Arrays) -> Judge:
    held_out = HeldOut(
        sources=frozenset(arrays["sources"].tolist()),
        targets=frozenset(arrays["targets"].tolist()),
        signatures=arrays["signatures"],
    )
    return Judge(CleanSettings(**facts["settings"]), Languages(**facts["languages"]), held_out)


def send(stream: IO[bytes], facts: Any, arrays: Arrays) -> None:
    from safetensors.numpy import save

    content = save({name: np.ascontiguousarray(each) for name, each in arrays.items()})
    for part in (json.dumps(facts).encode(), content):
        stream.write(len(part).to_bytes(8, "little") + part)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, dict[str, np.ndarray]] | None:
    """A message, or None if the other side has ended."""
    from safetensors.numpy import load

    parts = []
    for _ in range(2):
        length = stream.read(8)
        part = stream.read(int.from_bytes(length, "little"))
        if len(length) < 8 or len(part) < int.from_bytes(length, "little"):
            return None
        parts.append(part)
    return json.loads(parts[0]), load(parts[1])
