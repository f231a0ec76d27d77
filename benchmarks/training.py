"""How many words a second are learned from: `qkv train` beside others, in one run.

    python benchmarks/training.py --quick      under 50 seconds, against Hugging Face alone
    python benchmarks/training.py              all peers that are installed, in several rounds

Counted are target tokens that are no padding; a step is forward, backward, clipping and AdamW, with dropout and label
smoothing, on batches of sentences of like length. Two shapes: tiny (4+4 blocks, width 128, hidden 256, 4 heads) and base
(6+6, 512, 2048, 8), both with 10,000 pieces. Ours is the command that a user types, in a process of its own; each peer is a
plain PyTorch loop around its model with the same batches. All are started at once, made ready, and stopped; then they
have the machine in turns, one at a time, so that a slow minute of the machine is a slow minute for all.

  ours                 `qkv train translator`: by default one process for each core, which exchange gradients
  ours, recipe         the same with Muon instead of AdamW, as the recipes for small data have it
  marian               transformers' MarianMTModel, as people run it: one process with all cores
  marian, 2 processes  the same under torchrun with DistributedDataParallel, one process for each core
  nn.Transformer       torch's own module, one process with all cores
"""

import importlib.util
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.table import Table

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import UserError

VOCABULARY = 10_000
QUICK_SECONDS = 46.0  # after which everything has ended
QUICK_SHARES = {  # of the time that is left, for a turn: what follows has to be made ready first
    ("tiny", "ours"): 0.1,
    ("tiny", "marian"): 0.12,
    ("base", "ours"): 0.25,
    ("base", "marian"): 0.9,
}
WORKER = Path(__file__).with_name("training_worker.py")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Options:
    quick: bool = False
    """End within 50 seconds: against Hugging Face alone, one round after another as far as time goes."""
    data: Path | None = None
    """Folder with Multi30k (train.lc.norm.tok.en and .de); without it, made-up sentences of the same lengths."""
    rounds: int = 4
    """Turns of each system."""
    seconds: float = 15.0
    """Length of a turn."""
    out: Path | None = None
    """File for the results as JSON."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    depth: int
    width: int
    hidden: int
    heads: int
    dropout: float
    batch_tokens: int

    def operations(self, source: float, target: float) -> float:
        """Multiplications and additions of a step, for so many words in sentences of about 15; attention scores included."""
        d, f, length = self.width, self.hidden, 15
        encoder = self.depth * (4 * d * d + 2 * d * f + 2 * length * d)
        keys_and_values = self.depth * 2 * d * d
        decoder = self.depth * (6 * d * d + 2 * d * f + 3 * length * d) + d * VOCABULARY
        return 3 * 2 * (source * (encoder + keys_and_values) + target * decoder)  # twice as much backward


SHAPES = {
    "tiny": Shape(depth=4, width=128, hidden=256, heads=4, dropout=0.3, batch_tokens=2_048),
    "base": Shape(depth=6, width=512, hidden=2_048, heads=8, dropout=0.1, batch_tokens=1_024),
}


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

    def __init__(self, shape: Shape, files: tuple[Path, Path], folder: Path, optimiser: str):
        folder.mkdir(parents=True)
        self.log = folder / "run" / "training" / "log.jsonl"
        self.processes = [started(ours_command(shape, files, folder / "run", optimiser), folder)]
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
                )  # looking costs time that is measured: what was read before is not read again
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


class Peer:
    """A worker, or one for each core, that trains when asked to."""

    def __init__(
        self, kind: str, files: tuple[Path, Path], tokenizer: Path, folder: Path, shape: Shape, count: int
    ):
        folder.mkdir(parents=True)
        self.folder = folder
        command = [
            sys.executable,
            str(WORKER),
            kind,
            json.dumps(asdict(shape)),
            *map(str, files),
            str(tokenizer),
        ]
        port = str(free_port())
        self.processes = [
            started(command, folder, {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
            for rank in range(count)
        ]  # fmt: skip

    def make_ready(self, steps: int) -> None:
        self.send(warm_up=steps)
        self.answer()

    def hold(self) -> None:
        """Its first line says that its model is made; after that it does nothing unasked."""
        self.answer()

    def turn(self, seconds: float) -> tuple[int, float]:
        self.send(seconds=seconds)
        answer = self.answer()
        return int(answer["tokens"]), answer["seconds"]

    def matmul_peak(self) -> float:
        self.send(peak=1)
        return self.answer()["peak"]

    def send(self, **question: float) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()

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


@dataclass
class Contestant:
    name: str
    trainer: Trainer
    turns: list[tuple[int, float]] = field(default_factory=list)  # tokens and seconds of each

    @property
    def speed(self) -> float:
        return sum(tokens for tokens, _ in self.turns) / sum(seconds for _, seconds in self.turns)

    @property
    def speeds(self) -> list[float]:
        return [tokens / seconds for tokens, seconds in self.turns]


def ours_command(shape: Shape, files: tuple[Path, Path], out: Path, optimiser: str) -> list[str]:
    model = {k: v for k, v in asdict(shape).items() if k in ("width", "heads", "hidden", "dropout")}
    options = {
        "--source": files[0],
        "--target": files[1],
        "--out": out,
        "--vocabulary": VOCABULARY,
        "--steps": 10**6,
        "--model.encoder-depth": shape.depth,
        "--model.decoder-depth": shape.depth,
        **{f"--model.{name}": value for name, value in model.items()},
        "--model.positions": "interleaved",
        "--training.batch-tokens": shape.batch_tokens,
        "--training.optimiser": optimiser,
        "--training.weight-decay": 0.01,
        "--training.rate": 1e-4,
        "--training.log-every": 1,
        "--training.validate-every": 10**6,
        "--data.valid": 50,
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
        raise UserError(f"{folder.name} has ended with {process.returncode}: {said}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def contest(
    shape: Shape, options: Options, files: tuple[Path, Path], folder: Path
) -> Iterator[list[Contestant]]:
    """All systems for a shape, started. The peers cut words as ours does."""
    found: list[Contestant] = []
    tokenizer = folder / "ours" / "run" / "training" / "tokenizer.json"
    try:
        found.append(Contestant("ours", Ours(shape, files, folder / "ours", "adamw")))
        for name, kind, count in peers(options):
            found.append(Contestant(name, Peer(kind, files, tokenizer, folder / name, shape, count)))
        if not options.quick:
            found.append(Contestant("ours, recipe", Ours(shape, files, folder / "recipe", "muon")))
        yield found
    finally:
        for each in found:
            end(each.trainer.processes)


def peers(options: Options) -> list[tuple[str, str, int]]:
    """Name, model and processes of each that is installed."""
    found = []
    if importlib.util.find_spec("transformers") is not None:
        found.append(("marian", "marian", 1))
        if not options.quick and CORES > 1:
            found.append((f"marian, {CORES} processes", "marian", CORES))
    if not options.quick:
        found.append(("nn.Transformer", "nn.Transformer", 1))
    return found


def write_texts(options: Options, folder: Path) -> tuple[Path, Path]:
    files = folder / "text.source", folder / "text.target"
    if options.data is not None:
        from qkv.data.parallel import read_two

        pairs = read_two(*(options.data / f"train.lc.norm.tok.{language}" for language in ("en", "de")))
        texts = pairs.source, pairs.target
    else:
        texts = made_up(random.Random(1), 5_000)
    for path, lines in zip(files, texts, strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


def made_up(generator: random.Random, count: int) -> tuple[list[str], list[str]]:
    """Pairs of nonsense with as many words as picture captions have, a few of them frequent and most of them rare."""
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(7_000)]
    up_to = list(accumulate(1 / (rank + 5) for rank in range(len(words))))  # the sum of their frequencies
    source, target = [], []
    for _ in range(count):
        length = min(40, max(4, round(generator.gauss(12.5, 4))))
        other = max(3, length + generator.randint(-2, 2))
        source.append(" ".join(generator.choices(words, cum_weights=up_to, k=length)))
        target.append(" ".join(generator.choices(words, cum_weights=up_to, k=other)))
    return source, target


def run(options: Options) -> None:
    began = time.monotonic()
    if os.name != "posix":
        raise UserError("the systems are stopped while others have their turn, which needs Linux or macOS.")
    if importlib.util.find_spec("transformers") is None and options.quick:
        raise UserError("--quick compares with Hugging Face's transformers, which is not installed.")
    folder = Path(tempfile.mkdtemp(prefix="qkv-training-"))
    try:
        files = write_texts(options, folder)
        results = (
            measured_quickly(options, files, folder, began)
            if options.quick
            else measured(options, files, folder)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for shape, rows in results.items():
        show(shape, rows)
    print("ratio " + " ".join(f"{shape} {ratio(rows):.2f}" for shape, rows in results.items()))


Results = dict[str, dict[str, dict[str, float]]]  # shape -> system -> what was measured


def ratio(rows: dict[str, dict[str, float]]) -> float:
    """Ours against the best peer as its users run it."""
    others = [
        row["tokens_per_second"]
        for name, row in rows.items()
        if not name.startswith("ours") and "processes" not in name
    ]
    return rows["ours"]["tokens_per_second"] / max(others)


def measured(options: Options, files: tuple[Path, Path], folder: Path) -> Results:
    from qkv.cli.terminal import counting

    results: Results = {}
    for name, shape in SHAPES.items():
        with contest(shape, options, files, folder / name) as contestants:
            for each in contestants:
                each.trainer.hold()
            for each in contestants:
                each.trainer.make_ready(steps=5)
            peak = next(each.trainer.matmul_peak() for each in contestants if isinstance(each.trainer, Peer))
            with counting(f"{name}: turns", options.rounds * len(contestants)) as done:
                for _ in range(options.rounds):
                    for each in contestants:
                        each.turns.append(each.trainer.turn(options.seconds))
                        done(1)
            operations = shape.operations(*map(words_in, files)) / words_in(files[1])
            results[name] = {
                each.name: {
                    **row_of(each),
                    "of_peak": each.speed * operations / peak,
                    "gigabytes": memory_of(each.trainer.processes),
                }
                for each in contestants
            }
    return results


def measured_quickly(options: Options, files: tuple[Path, Path], folder: Path, began: float) -> Results:
    """Both shapes are started side by side; then each has one turn after another as soon as it is ready."""
    with ExitStack() as stack:
        contests = {
            name: stack.enter_context(contest(shape, options, files, folder / name))
            for name, shape in SHAPES.items()
        }
        for each in [*contests["base"], *contests["tiny"][1:]]:  # all but the one that has the first turn
            each.trainer.hold()
        for name, contestants in contests.items():
            for each in contestants:
                each.trainer.make_ready(steps=1)
                left = QUICK_SECONDS - (time.monotonic() - began)
                each.turns.append(each.trainer.turn(max(1.0, left * QUICK_SHARES[name, each.name])))
        return {
            name: {each.name: row_of(each) for each in contestants} for name, contestants in contests.items()
        }


def row_of(contestant: Contestant) -> dict[str, float]:
    return {
        "tokens_per_second": contestant.speed,
        "slowest_turn": min(contestant.speeds),
        "fastest_turn": max(contestant.speeds),
    }


def words_in(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").split())


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


def show(shape: str, rows: dict[str, dict[str, float]]) -> None:
    table = Table(
        "", "tokens/s", "turns", "ours is faster by", "of the peak", "memory", title=shape
    )  # the last two are not measured quickly
    own = rows["ours"]["tokens_per_second"]
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['tokens_per_second']:,.0f}",
            f"{row['slowest_turn']:,.0f} – {row['fastest_turn']:,.0f}",
            "" if name == "ours" else f"{own / row['tokens_per_second']:.2f} ×",
            f"{100 * row['of_peak']:.0f} %" if "of_peak" in row else "",
            f"{row['gigabytes']:.1f} GB" if "gigabytes" in row else "",
        )
    Console(width=max(120, shutil.get_terminal_size().columns)).print(table)


if __name__ == "__main__":
    try:
        run(read_options(Options, sys.argv[1:], prog="benchmarks/training.py", description=__doc__))
    except UserError as error:
        sys.exit(fail(str(error)))
