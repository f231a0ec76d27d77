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
  marian, 2 processes  the same with DistributedDataParallel, one process for each core
  nn.Transformer       torch's own module, one process with all cores
  joeynmt              JoeyNMT's own command with all cores, where --joeynmt-python says that it is installed
"""

import importlib.util
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from joeynmt_files import is_installed
from rich.console import Console
from rich.table import Table
from training_systems import JoeyNMT, Ours, Peer, Shape, Trainer, Worker, end, most_memory

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.data.parallel import read_two
from qkv.errors import QkvError
from qkv.text.tokenizer import Tokenizer

QUICK_SECONDS = 43.0  # after which everything has ended, or does with the step that is being made
QUICK_PAIRS = 8_000  # of which 10,000 pieces can be made
QUICK_SHARES = {  # of the time that is left, for a turn: what follows has to be made ready first
    ("tiny", "ours"): 0.1,
    ("tiny", "marian"): 0.12,
    ("base", "ours"): 0.25,
    ("base", "marian"): 0.9,
}
MEMORY_SECONDS = 5.0  # of a turn in which memory is looked at
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Options:
    quick: bool = False
    """End within 50 seconds: against Hugging Face alone, one turn each, of few steps."""
    data: Path | None = None
    """Folder with Multi30k (train.lc.norm.tok.en and .de); without it, made-up sentences of the same lengths."""
    rounds: int = 4
    """Turns of each system."""
    seconds: float = 15.0
    """Length of a turn."""
    joeynmt_python: str = sys.executable
    """The Python interpreter that JoeyNMT is installed for."""
    shapes: str = "tiny,base,base-2048"
    """Which shapes, one after another; base-2048 and base-4096 are base with larger batches. Not for --quick."""
    out: Path | None = None
    """File for the results as JSON."""


SHAPES = {
    "tiny": Shape(depth=4, width=128, hidden=256, heads=4, dropout=0.3, batch_tokens=2_048),
    "base": Shape(depth=6, width=512, hidden=2_048, heads=8, dropout=0.1, batch_tokens=1_024),
}
ALL_SHAPES = SHAPES | {
    f"base-{tokens}": replace(SHAPES["base"], batch_tokens=tokens) for tokens in (2_048, 4_096)
}


def shapes_of(options: Options) -> dict[str, Shape]:
    names = [name.strip() for name in options.shapes.split(",")]
    unknown = [name for name in names if name not in ALL_SHAPES]
    if unknown:
        raise QkvError(f"--shapes knows {', '.join(ALL_SHAPES)}, not {', '.join(unknown)}.")
    return {name: ALL_SHAPES[name] for name in names}


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


@contextmanager
def contest(
    name: str, options: Options, files: tuple[Path, Path], folder: Path
) -> Iterator[list[Contestant]]:
    """All systems for a shape, started. The peers cut words as ours does."""
    found: list[Contestant] = []
    shape, tokenizer = ALL_SHAPES[name], folder / "ours" / "run" / "training" / "tokenizer.json"
    try:
        found.append(Contestant("ours", Ours(shape, files, folder / "ours", "adamw")))
        for peer, kind, count in peers():
            worker = Worker(kind, files, tokenizer, folder / peer, {name: shape}, count)
            found.append(Contestant(peer, Peer(worker, name)))
        found.append(Contestant("ours, recipe", Ours(shape, files, folder / "recipe", "muon")))
        if is_installed(options.joeynmt_python):
            found[0].trainer.hold()  # it has learned the vocabulary then
            pieces = Tokenizer.load(tokenizer)
            joey = JoeyNMT(options.joeynmt_python, shape, read_two(*files), pieces, folder / "joeynmt")
            found.append(Contestant("joeynmt", joey))
        yield found
    finally:
        for each in found:
            end(each.trainer.processes)


def peers() -> list[tuple[str, str, int]]:
    """Name, model and processes of each that is installed."""
    found = [("nn.Transformer", "nn.Transformer", 1)]
    if importlib.util.find_spec("transformers") is not None:
        found.append(("marian", "marian", 1))
        if CORES > 1:
            found.append((f"marian, {CORES} processes", "marian", CORES))
    return found


def write_texts(options: Options, folder: Path) -> tuple[Path, Path]:
    files = folder / "text.source", folder / "text.target"
    if options.data is not None:
        pairs = read_two(*(options.data / f"train.lc.norm.tok.{language}" for language in ("en", "de")))
        texts = pairs.source, pairs.target
    else:
        texts = made_up(random.Random(1), 5_000)
    if options.quick:  # reading, cutting and counting words takes everybody's time
        texts = texts[0][:QUICK_PAIRS], texts[1][:QUICK_PAIRS]
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
        raise QkvError("the systems are stopped while others have their turn, which needs Linux or macOS.")
    if importlib.util.find_spec("transformers") is None and options.quick:
        raise QkvError("--quick compares with Hugging Face's transformers, which is not installed.")
    if options.rounds < 1 or options.seconds <= 0:
        raise QkvError("--rounds must be at least 1, and --seconds more than 0.")
    shapes_of(options)
    if options.out is not None and not options.out.parent.is_dir():
        raise QkvError(f"--out: there is no folder {options.out.parent}; make it first.")
    folder = Path(tempfile.mkdtemp(prefix="qkv-training-"))
    try:
        files = write_texts(options, folder)
        results = (
            measured_quickly(files, folder, began) if options.quick else measured(options, files, folder)
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
    from qkv.progress.terminal import count_progress

    results: Results = {}
    for name, shape in shapes_of(options).items():
        with contest(name, options, files, folder / name) as contestants:
            for each in contestants:
                each.trainer.hold()
            for each in contestants:
                each.trainer.make_ready(steps=5)
            peak = next(each.trainer.matmul_peak() for each in contestants if isinstance(each.trainer, Peer))
            with count_progress(f"{name}: turns", options.rounds * len(contestants)) as done:
                for _ in range(options.rounds):
                    for each in contestants:
                        each.turns.append(each.trainer.turn(options.seconds))
                        done(1)
            operations = shape.operations(*map(words_in, files)) / words_in(files[1])
            results[name] = {
                each.name: {
                    **row_of(each),
                    "of_peak": each.speed * operations / peak,
                    "gigabytes": most_memory(each.trainer, min(options.seconds, MEMORY_SECONDS)),
                }
                for each in contestants
            }
    return results


def measured_quickly(files: tuple[Path, Path], folder: Path, began: float) -> Results:
    """Everything is started at once; then each has one turn, as long as what follows leaves it."""
    tokenizer = folder / "tiny" / "run" / "training" / "tokenizer.json"
    started: list[Trainer] = []
    try:
        ours = {name: Ours(shape, files, folder / name, "adamw") for name, shape in SHAPES.items()}
        started += ours.values()
        worker = Worker("marian", files, tokenizer, folder / "marian", SHAPES, 1)
        contestants = {
            name: [Contestant("ours", ours[name]), Contestant("marian", Peer(worker, name))]
            for name in SHAPES
        }
        started.append(contestants["tiny"][1].trainer)
        ours["base"].hold()
        contestants["tiny"][1].trainer.hold()
        for name, pair in contestants.items():
            for each in pair:
                each.trainer.make_ready(steps=1)
                left = QUICK_SECONDS - (time.monotonic() - began)
                each.turns.append(each.trainer.turn(max(1.0, left * QUICK_SHARES[name, each.name])))
        return {name: {each.name: row_of(each) for each in pair} for name, pair in contestants.items()}
    finally:
        for trainer in started:
            end(trainer.processes)


def row_of(contestant: Contestant) -> dict[str, float]:
    return {
        "tokens_per_second": contestant.speed,
        "slowest_turn": min(contestant.speeds),
        "fastest_turn": max(contestant.speeds),
    }


def words_in(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").split())


def show(shape: str, rows: dict[str, dict[str, float]]) -> None:
    # The last two columns are empty where there was no time to measure them.
    table = Table("", "tokens/s", "turns", "ours is faster by", "of the peak", "memory", title=shape)
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
    except QkvError as error:
        sys.exit(fail(str(error)))
    except OSError as error:
        sys.exit(fail(f"the system says: {error}; check the disk, --data and --joeynmt-python."))
    except KeyboardInterrupt:
        fail("stopped; nothing was kept.")
        sys.exit(130)
