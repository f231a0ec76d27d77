"""The systems of benchmarks/training.py: each trains in processes of its own, and rests while it is not its turn."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import Protocol

from joeynmt_files import joey_config, speeds_in, write_pieces

from qkv.data.parallel import ParallelText
from qkv.errors import QkvError
from qkv.text.tokenizer import Tokenizer

VOCABULARY = 10_000
WORKER = Path(__file__).with_name("training_worker.py")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The size of a model, and how every system trains it."""

    depth: int
    width: int
    hidden: int
    heads: int
    dropout: float
    batch_tokens: int
    batches: int = 1  # added up for an update
    learning_rate: float = 1e-4
    warmup_steps: int = 1
    adam_betas: tuple[float, float] = (0.9, 0.98)
    label_smoothing: float = 0.1

    def operations(self, source: float, target: float) -> float:
        """Multiplications and additions of a step, for so many words in sentences of about 15; attention scores included."""
        d, f, length = self.width, self.hidden, 15
        encoder = self.depth * (4 * d * d + 2 * d * f + 2 * length * d)
        keys_and_values = self.depth * 2 * d * d
        decoder = self.depth * (6 * d * d + 2 * d * f + 3 * length * d) + d * VOCABULARY
        return 3 * 2 * (source * (encoder + keys_and_values) + target * decoder)  # twice as much backward


class Trainer(Protocol):
    """A system that trains, and rests while it is not its turn."""

    processes: list[subprocess.Popen[bytes]]

    def hold(self) -> None:
        """Let it come as far as it can without much work, and rest."""

    def make_ready(self, steps: int) -> None:
        """Let it make its first steps, which are slow, and rest."""

    def turn(self, seconds: float) -> tuple[int, float]:
        """Train for about so long: target tokens, and seconds."""


class Ours:
    """The command itself. It is stopped and taken up again by signals, at the end of a step."""

    def __init__(
        self,
        shape: Shape,
        files: tuple[Path, Path],
        folder: Path,
        optimiser: str,
        environment: dict[str, str] | None = None,
    ):
        folder.mkdir(parents=True)
        self.log = folder / "run" / "training" / "log.jsonl"
        self.processes = [started(ours_command(shape, files, folder / "run", optimiser), folder, environment)]
        self.read_to, self.steps, self.tokens = 0, 0, 0  # of the log

    def hold(self) -> None:
        while not (self.log.parent / "tokenizer.json").exists():
            check_alive(self.processes[0], self.log.parents[2])
            time.sleep(0.01)
        self.send(signal.SIGSTOP)

    def make_ready(self, steps: int) -> None:
        self.send(signal.SIGCONT)
        self.wait_for(steps)
        self.send(signal.SIGSTOP)

    def turn(self, seconds: float) -> tuple[int, float]:
        steps, before = self.so_far()
        self.send(signal.SIGCONT)
        began = time.monotonic()
        _, tokens = self.wait_for(steps + 1, until=began + seconds)
        spent = time.monotonic() - began
        self.send(signal.SIGSTOP)
        return tokens - before, spent

    def so_far(self) -> tuple[int, int]:
        """Steps, and target tokens of all of them."""
        check_alive(self.processes[0], self.log.parents[2])
        if self.log.exists():
            with open(self.log, encoding="utf-8") as file:
                file.seek(
                    self.read_to
                )  # what was read before is not read again: looking takes time from the turn
                *lines, _ = file.read().split("\n")
            self.read_to += sum(len(line) + 1 for line in lines)
            rows = [row for row in map(json.loads, lines) if "tokens" in row]
            self.steps += len(rows)
            self.tokens = rows[-1]["tokens"] if rows else self.tokens
        return self.steps, self.tokens

    def wait_for(self, steps: int, until: float = 0.0) -> tuple[int, int]:
        """The end of a step, with at least so many made, and not before this time."""
        seen = self.so_far()
        while True:
            time.sleep(0.005)
            now = self.so_far()
            if now > seen and now[0] >= steps and time.monotonic() >= until:
                return now
            seen = now

    def send(self, number: signal.Signals) -> None:
        os.killpg(self.processes[0].pid, number)


class Worker:
    """A peer's process, or one for each core, that trains models of these shapes when asked to."""

    def __init__(
        self,
        kind: str,
        files: tuple[Path, Path],
        tokenizer: Path,
        folder: Path,
        shapes: Mapping[str, Shape],
        count: int,
    ):
        folder.mkdir(parents=True)
        self.folder = folder
        described = json.dumps({name: asdict(shape) for name, shape in shapes.items()})
        command = [sys.executable, str(WORKER), kind, described, *map(str, files), str(tokenizer)]
        port = str(free_port())
        self.processes = [
            started(command, folder, {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
            for rank in range(count)
        ]  # fmt: skip

    def ask(self, **question: float | str) -> dict[str, float]:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, float]:
        """Of the first process; the others have the same to say."""
        lines = []
        for process in self.processes:
            assert process.stdout is not None
            lines.append(process.stdout.readline())
            if not lines[-1]:
                process.wait()
                check_alive(process, self.folder)
        answer: dict[str, float] = json.loads(lines[0])
        return answer


class Peer:
    """One of the models that a worker trains."""

    def __init__(self, worker: Worker, shape: str):
        self.worker, self.shape, self.processes = worker, shape, worker.processes

    def hold(self) -> None:
        """Its answer says that its model is made; after that it does nothing unasked."""
        self.worker.ask(shape=self.shape, warm_up=0)

    def make_ready(self, steps: int) -> None:
        self.worker.ask(shape=self.shape, warm_up=steps)

    def turn(self, seconds: float) -> tuple[int, float]:
        answer = self.worker.ask(shape=self.shape, seconds=seconds)
        return int(answer["tokens"]), answer["seconds"]

    def matmul_peak(self) -> float:
        return self.worker.ask(shape=self.shape, peak=1)["peak"]


class JoeyNMT:
    """Its own command. It says how fast each update was, and not how many words that were."""

    def __init__(self, python: str, shape: Shape, texts: ParallelText, tokenizer: Tokenizer, folder: Path):
        folder.mkdir(parents=True)
        few = ParallelText(source=texts.source[:10], target=texts.target[:10])
        write_pieces(folder / "data", texts, few, tokenizer)
        config = joey_config(folder, shape, seed=1, validate_every=10**6)
        (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        command = [python, "-m", "joeynmt", "train", str(folder / "config.yaml"), "--skip-test"]
        self.folder, self.log = folder, folder / "model" / "train.log"
        self.processes = [started(command, folder)]

    def hold(self) -> None:
        while "EPOCH 1" not in self.so_far():
            time.sleep(0.1)
        self.send(signal.SIGSTOP)

    def make_ready(self, steps: int) -> None:
        self.updates_until(steps, until=0.0)

    def turn(self, seconds: float) -> tuple[int, float]:
        began = time.monotonic()
        speeds = self.updates_until(4, until=began + seconds)[1:]  # the first of them has rested on its way
        spent = time.monotonic() - began
        return round(harmonic_mean(speeds) * spent), spent

    def updates_until(self, count: int, until: float) -> list[float]:
        """At least so many, and not before this time."""
        before = len(speeds_in(self.so_far()))
        self.send(signal.SIGCONT)
        while True:
            time.sleep(0.05)
            speeds = speeds_in(self.so_far())[before:]
            if len(speeds) >= count and time.monotonic() >= until:
                self.send(signal.SIGSTOP)
                return speeds

    def so_far(self) -> str:
        check_alive(self.processes[0], self.folder)
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        os.killpg(self.processes[0].pid, number)


def ours_command(shape: Shape, files: tuple[Path, Path], out: Path, optimiser: str) -> list[str]:
    options = {
        "--source": files[0],
        "--target": files[1],
        "--out": out,
        "--vocab-size": VOCABULARY,
        "--steps": 10**6,
        "--encoder-depth": shape.depth,
        "--decoder-depth": shape.depth,
        "--width": shape.width,
        "--heads": shape.heads,
        "--ffn-width": shape.hidden,
        "--dropout": shape.dropout,
        "--positions": "interleaved",
        "--batch-tokens": shape.batch_tokens,
        "--optimizer": optimiser,
        "--weight-decay": 0.01,
        "--learning-rate": shape.learning_rate,
        "--log-every": 1,
        "--validate-every": 10**6,
        "--valid-size": 50,
    }
    arguments = [str(part) for pair in options.items() for part in pair]
    return [sys.executable, "-m", "qkv", "train", "translator", *arguments]


def started(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    with open(folder / "errors.log", "ab") as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # signals reach the processes that it starts as well
            env={**os.environ, **(environment or {})},
        )


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def check_alive(process: subprocess.Popen[bytes], folder: Path) -> None:
    if process.poll() is not None:
        lines = (folder / "errors.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = lines[-1] if lines else "it says nothing"
        raise QkvError(f"{folder.name} has ended with {process.returncode}: {said}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def most_memory(trainer: Trainer, seconds: float) -> float:
    """Gigabytes that a system held at most during a turn; that turn does not count, for looking takes time."""
    found, ended = [memory_of(trainer.processes)], threading.Event()

    def look() -> None:
        while not ended.wait(0.05):
            found.append(memory_of(trainer.processes))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        trainer.turn(seconds)
    finally:
        ended.set()
        looking.join()
    return max(found)


def memory_of(processes: Sequence[subprocess.Popen[bytes]]) -> float:
    """Gigabytes that these processes, and those that they have started, hold now; what they share counts once."""
    groups, total = {process.pid for process in processes}, 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) in groups:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:  # it has ended meanwhile
            continue
    return total / 2**20
