"""What a user waits for: whole commands, from the start of the process to its end, on the same weights.

    python benchmarks/end_to_end.py --model runs/demo --quick
    python benchmarks/end_to_end.py --model runs/demo --weak runs/weak --large runs/zh-en --large-lines FILE

runs/weak is `qkv train translator --recipe built-in --steps 200` on the demo's pairs, runs/zh-en comes from argos_bundle.py.

Ours is `qkv translate --input F --output G` with all guarantees on. The peer is a short script with `ctranslate2` and
`tokenizers` in int8 (end_to_end_peer.py), with several numbers of workers and threads, of which the fastest counts.
Systems take turns, and the fastest turn of each counts. The last line divides the time or memory of CTranslate2 by ours:
above 1 is better.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
PEER = HERE / "end_to_end_peer.py"
CORES = len(os.sched_getaffinity(0))
# pip has compiled the peers to bytecode. The first command does it for a clone of qkv, unless this variable forbids it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass
class Turns:
    """The turns of one system on one task."""

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def memory(self) -> float:
        return min(self.megabytes)


@dataclass(frozen=True)
class Job:
    """One file to translate with one model."""

    name: str
    model: Path
    exported: Path  # the same weights for CTranslate2
    lines: Sequence[str]
    beam: int


# A tiny parent asks the system for the peak memory of the command alone.
WRAPPER = """
import os, resource, sys
pid = os.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(pid, 0)
print("peak_kb", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measure(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of a command from start to end, and the most memory that it held, in megabytes."""
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-S", "-c", WRAPPER, *command], capture_output=True, text=True, env=ENVIRONMENT
    )
    seconds = time.perf_counter() - began
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {ended.stderr[-500:]}")
    [peak] = [line for line in ended.stderr.splitlines() if line.startswith("peak_kb ")]
    return seconds, float(peak.split()[1]) / 1000


def ours(job: Job, given: Path, folder: Path) -> list[str]:
    made = folder / "ours.txt"
    made.unlink(missing_ok=True)
    options = ["--input", str(given), "--output", str(made), "--beam-size", str(job.beam)]
    return [sys.executable, "-m", "qkv", "translate", str(job.model), *options]


def peer(job: Job, given: Path, folder: Path, workers: int, threads: int) -> list[str]:
    made = folder / "peer.txt"
    numbers = [str(each) for each in (job.beam, workers, threads)]
    return [sys.executable, str(PEER), str(job.exported), str(job.model), str(given), str(made), *numbers]


def settings(lines: int) -> list[tuple[int, int]]:
    """Numbers of workers and threads of CTranslate2 to try."""
    return [(1, 1), (1, CORES)] if lines < 50 else [(CORES, 1), (1, CORES)]


def contest(job: Job, count: int, rounds: int) -> dict[str, Turns]:
    """The systems take turns in translating the first `count` lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = folder / "given.txt"
        given.write_text("\n".join(job.lines[:count]) + "\n", encoding="utf-8")
        systems: dict[str, Callable[[], list[str]]] = {"qkv": lambda: ours(job, given, folder)}
        for workers, threads in settings(count):
            systems[f"CTranslate2, {workers} × {threads} threads"] = lambda w=workers, t=threads: peer(
                job, given, folder, w, t
            )
        found = {each: Turns() for each in systems}
        for _ in range(rounds):
            for each, command in systems.items():
                seconds, megabytes = measure(command())
                found[each].seconds.append(seconds)
                found[each].megabytes.append(megabytes)
        return found


def best_peer(found: dict[str, Turns]) -> Turns:
    return min((turns for name, turns in found.items() if name != "qkv"), key=lambda turns: turns.best)


def from_python(job: Job, rounds: int) -> tuple[float, float]:
    """Seconds for a list of sentences in a process that has loaded the model: ours, and CTranslate2's with tokenization."""
    import ctranslate2
    import end_to_end_peer

    import qkv

    translator = qkv.load(job.model)
    tokenizer = end_to_end_peer.open_tokenizer(job.model)
    engine = ctranslate2.Translator(
        str(job.exported), compute_type="int8", inter_threads=CORES, intra_threads=1
    )
    own, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        translator.translate(list(job.lines), beam_size=job.beam)
        own.append(time.perf_counter() - began)
        began = time.perf_counter()
        end_to_end_peer.translate(engine, tokenizer, list(job.lines), job.beam)
        theirs.append(time.perf_counter() - began)
    return min(own), min(theirs)


def export(model: Path, folder: Path) -> Path:
    to = folder / f"{model.name}-ct2"
    command = [sys.executable, "-m", "qkv", "export", str(model), "--to", "ctranslate2", "-o", str(to)]
    subprocess.run([*command, "--compute-type", "int8"], check=True, capture_output=True)
    return to


def built_in_lines(count: int) -> list[str]:
    from qkv.data.worlds import pairs

    return [pair.source for pair in pairs("en", "de", count, part="test")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=Path("runs/demo"), help="a good small model")
    parser.add_argument("--weak", type=Path, help="a model that was trained for 200 steps")
    parser.add_argument("--large", type=Path, help="a model of the size of OPUS-MT")
    parser.add_argument("--large-lines", type=Path, help="sentences for the large model, one per line")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="the small model, 1 and 1,000 lines, under 50 seconds"
    )
    given = parser.parse_args()
    console, table = Console(width=110), Table("model", "lines", "system", "seconds", "peak MB")
    ratios: dict[tuple[str, int], tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [Job("small", given.model, export(given.model, folder), built_in_lines(1_000), given.beam)]
        if given.weak and not given.quick:
            jobs.append(
                Job("weak", given.weak, export(given.weak, folder), built_in_lines(1_000), given.beam)
            )
        if given.large and not given.quick:
            lines = given.large_lines.read_text(encoding="utf-8").splitlines()[:1_000]
            jobs.append(Job("large", given.large, export(given.large, folder), lines, given.beam))
        for job in jobs:
            for count in (1, 1_000) if given.quick else (1, 100, 1_000):
                found = contest(job, count, 3 if given.quick else given.rounds)
                for system, turns in found.items():
                    table.add_row(job.name, f"{count:,}", system, f"{turns.best:.2f}", f"{turns.memory:.0f}")
                other, own = best_peer(found), found["qkv"]
                ratios[job.name, count] = other.best / own.best, other.memory / own.memory
        if not given.quick:
            own, theirs = from_python(jobs[0], given.rounds)
            table.add_row("small", "1,000", "qkv, from Python", f"{own:.2f}", "")
            table.add_row("small", "1,000", "CTranslate2, from Python", f"{theirs:.2f}", "")
    console.print(table)
    for (model, count), (speed, memory) in ratios.items():
        print(f"{model}, {count:,} lines: {speed:.2f} × as fast, {memory:.2f} × as little memory")
    if not given.quick:
        print(f"from Python, 1,000 lines: {theirs / own:.2f} × as fast")
    start, file = ratios["small", 1][0], ratios["small", 1_000]
    print(f"ratio start {start:.2f} file {file[0]:.2f} memory {file[1]:.2f}")


if __name__ == "__main__":
    main()
