"""Scheduler: worker threads that translate the segments of all requests in small batches.

There is no timer. A segment that finds a free worker starts at once. While all workers are busy, segments wait, and the
next free worker takes several (`policy.py`). The compiled engine releases the GIL, so workers run in parallel with each
other and with the event loop. A translation does not depend on the other segments of its batch.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from qkv.families.translator.translations import Translation
from qkv.server import policy
from qkv.server.backend import Backend, Part

FIRST_GUESS = 500.0  # tokens per second of one worker, before anything was measured
RECENTLY = 2.0  # seconds: after a short request, more are likely
log = logging.getLogger(__name__)


class BusyError(Exception):
    """Too much work waits. `seconds` is when to try again."""

    def __init__(self, seconds: float):
        super().__init__(f"try again in {seconds:.0f} s")
        self.seconds = seconds


@dataclass(eq=False)
class Unit:
    """A segment that waits or is being translated."""

    part: Part
    backend: Backend
    words: bool
    job: "Job"
    result: "asyncio.Future[list[Translation]]"

    @property
    def group(self) -> tuple[object, ...]:
        """Segments with equal groups can share a batch."""
        options = self.part.options
        return (
            id(self.backend), self.words, self.part.plain, options.beam_size, options.num_hypotheses, options.alignments,
        )  # fmt: skip


@dataclass(eq=False)
class Job:
    """The segments of one request."""

    since: float
    tokens: int
    waiting: deque[Unit] = field(default_factory=deque)


@dataclass
class Counts:
    """What the workers have done so far, for /metrics."""

    batches: int = 0
    rows: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cancelled: int = 0


class Scheduler:
    def __init__(self, workers: int, most_tokens: int, patience: float):
        """`most_tokens` may wait. `patience`: a request that would wait longer, in seconds, is not accepted."""
        self.most_tokens, self.patience, self.workers = most_tokens, patience, workers
        self.counts = Counts()
        self.pace = FIRST_GUESS
        self.last_small = -RECENTLY  # when a short request came
        self.queued = 0  # tokens that wait
        self.running = 0  # batches
        self.jobs: list[Job] = []
        self.stopping = False
        self.ready = threading.Condition()
        self.threads = [
            threading.Thread(target=self.work, name=f"qkv worker {number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self.threads:
            thread.start()

    # The event loop's side -----------------------------------------------------------------------------------

    async def translate(
        self, backend: Backend, parts: Sequence[Part], *, words: bool, patient: bool = False
    ) -> list[list[Translation]]:
        """The translations of segments. If the caller is cancelled, segments that wait are dropped.

        Raises:
            BusyError: Too much work waits, and the caller is not `patient`.
        """
        loop = asyncio.get_running_loop()
        job = Job(time.monotonic(), sum(part.tokens for part in parts))
        units = [Unit(part, backend, words, job, loop.create_future()) for part in parts]
        self.submit(job, units, patient)
        try:
            return [await unit.result for unit in units]
        finally:
            self.withdraw(job, units)

    def submit(self, job: Job, units: Sequence[Unit], patient: bool) -> None:
        with self.ready:
            ahead = sum(min(other.tokens, job.tokens) for other in self.jobs)
            wait = policy.expected_seconds(ahead, self.pace * self.workers)
            full = self.queued + job.tokens > self.most_tokens or wait > self.patience
            if full and self.jobs and not patient:
                raise BusyError(policy.expected_seconds(self.queued, self.pace * self.workers))
            if job.tokens <= policy.SMALL:
                self.last_small = time.monotonic()
            job.waiting.extend(units)
            self.queued += job.tokens
            self.jobs.append(job)
            self.ready.notify(min(len(units), self.workers))

    def withdraw(self, job: Job, units: Sequence[Unit]) -> None:
        """Forget what is left of a job: nothing, unless its client has gone or a segment has failed."""
        with self.ready:
            if job.waiting:
                self.counts.cancelled += len(job.waiting)
                self.queued -= sum(unit.part.tokens for unit in job.waiting)
                job.waiting.clear()
            if job in self.jobs:
                self.jobs.remove(job)
        for unit in units:
            if not unit.result.done():
                unit.result.cancel()
            elif not unit.result.cancelled():
                unit.result.exception()  # it was reported by the first segment that failed

    def close(self) -> None:
        """Stop the workers after their current batches."""
        with self.ready:
            self.stopping = True
            self.ready.notify_all()
        for thread in self.threads:
            thread.join()

    # The workers' side ---------------------------------------------------------------------------------------

    def work(self) -> None:
        while True:
            with self.ready:
                while not self.stopping and not self.queued:
                    self.ready.wait()
                if self.stopping:
                    return
                units = self.take()
                self.running += 1
                alone = self.running == 1 and not self.queued
            began = time.monotonic()
            self.run(units, alone)
            self.finish(units, time.monotonic() - began)

    def take(self) -> list[Unit]:
        """Remove a batch from the queues. The caller holds the lock."""
        now = time.monotonic()
        jobs = [job for job in self.jobs if job.waiting]
        requests = [policy.Waiting(job.tokens, job.since) for job in jobs]
        turns = policy.order(requests, now)
        first = turns[0]
        interactive = now - self.last_small < RECENTLY
        limits = policy.limits_for(
            requests[first], len(jobs[first].waiting), self.workers, self.pace, interactive=interactive
        )
        queues = [jobs[each].waiting for each in turns if policy.share_batch(requests[first], requests[each])]
        units = policy.choose(queues, lambda unit: unit.group, lambda unit: unit.part.tokens, limits)
        for unit in units:
            unit.job.waiting.remove(unit)
            unit.job.since = now
            self.queued -= unit.part.tokens
        return units

    def run(self, units: Sequence[Unit], alone: bool) -> None:
        """Translate a batch. If that fails, translate each segment by itself, so that only the cause fails."""
        try:
            found = units[0].backend.translate(
                [unit.part for unit in units], words=units[0].words, alone=alone
            )
        except Exception as error:  # reported by the request that it belongs to
            if len(units) > 1:
                for unit in units:
                    self.run([unit], alone=False)
                return
            deliver(units, [error])
            return
        deliver(units, found)

    def finish(self, units: Sequence[Unit], seconds: float) -> None:
        tokens = sum(unit.part.tokens for unit in units)
        with self.ready:
            self.running -= 1
            for unit in units:
                unit.job.tokens -= unit.part.tokens
            self.pace = policy.smoothed(self.pace, tokens / max(seconds, 1e-4))
            counts = self.counts
            counts.batches += 1
            counts.rows += len(units)
            counts.tokens += tokens
            counts.seconds += seconds


def deliver(units: Sequence[Unit], results: Sequence[list[Translation] | Exception]) -> None:
    """Give results to the event loop that waits for them."""

    def set_results() -> None:
        for unit, result in zip(units, results, strict=True):
            if unit.result.done():  # the client has gone
                continue
            if isinstance(result, Exception):
                unit.result.set_exception(result)
            else:
                unit.result.set_result(result)

    try:
        units[0].result.get_loop().call_soon_threadsafe(set_results)
    except RuntimeError:  # the loop has been closed
        log.debug("a translation was finished after the server stopped")
