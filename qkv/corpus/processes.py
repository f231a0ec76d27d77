"""Work that is divided among processes. They are plain programs, so the caller's main module is not run again."""

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from qkv.errors import QkvError

Given = TypeVar("Given")
Found = TypeVar("Found")
WAITING = 4  # parts per process that are read ahead
PROGRAM = "from qkv.corpus.processes import serve; serve()"


def map_in_processes(
    work: Callable[[Given], Found], parts: Iterable[Given], processes: int
) -> Iterator[Found]:
    """The results in the order of the parts. Only a few parts are in memory at a time."""
    if processes <= 1:
        yield from map(work, parts)
        return
    workers = [Worker(work) for _ in range(processes)]
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def compute(part: Given) -> Found:
        worker = free.get()
        try:
            found: Found = worker.compute(part)
            return found
        finally:
            free.put(worker)

    try:
        with ThreadPoolExecutor(processes) as threads:
            waiting: deque[Future[Found]] = deque()
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
    """A process that computes one part after another. The work is sent once: it may hold large test sets."""

    def __init__(self, work: Callable[[Any], Any]):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.send(work)

    def send(self, value: Any) -> None:
        assert self.process.stdin is not None
        pickle.dump(value, self.process.stdin)
        self.process.stdin.flush()

    def compute(self, part: Any) -> Any:
        assert self.process.stdout is not None
        try:
            self.send(part)
            found, error = pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise QkvError(
                "a process ended before its work was done: the machine may be out of memory."
            ) from None
        if error is not None:
            raise error
        return found

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        self.process.wait()


def serve() -> None:
    """The program of a process: read the work, then compute parts until the input ends."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    work = pickle.load(sys.stdin.buffer)
    while True:
        try:
            part = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = work(part), None
        except Exception as error:  # raised again where the result is needed
            answer = None, error
        pickle.dump(answer, answers)
        answers.flush()
