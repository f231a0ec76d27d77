"""What it costs to prepare training data that are larger than memory, from 0.1 to 10 million pairs.

    python benchmarks/corpora.py --folder /tmp/corpora --pairs 100000 1000000

Distinct pairs are made from the general corpus (GENERAL, a .tsv.gz) and the built-in grammar. Each size is prepared in a new
process, stage by stage, and opened again in another one, as after a restart. CPU time is that of the process and its
threads, so other programs on the machine hardly matter. Peak memory is the resident set, with mapped files.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

GENERAL = Path(__file__).parents[2] / "shared" / "data" / "general" / "train.en-de.tsv.gz"
GRAMMAR = 20_000  # sentences; two of them make a pair, so there are 400 million
VOCAB_SIZE, BATCH_TOKENS, MAX_LENGTH, SEED = 12_000, 8_192, 256, 1


def distinct_pairs(general: Path) -> Iterator[tuple[str, str]]:
    """One of three pairs is from the general corpus. When that ends, a sentence of the grammar is added to each of its pairs."""
    from qkv.data.worlds import pairs

    made = [(each.source, each.target) for each in pairs("en", "de", GRAMMAR, part="train", seed=SEED)]
    with gzip.open(general, "rt", encoding="utf-8") as file:
        given = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    number = 0
    while True:
        turn, place = divmod(number, len(given))
        yield joined(given[place], made[turn - 1]) if turn else given[place]
        for half in (2 * number, 2 * number + 1):
            turn, second = divmod(half, GRAMMAR)
            yield joined(made[(second + turn) % GRAMMAR], made[second])
        number += 1


def joined(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    return f"{one[0]} {other[0]}", f"{one[1]} {other[1]}"


def write_pairs(path: Path, count: int, general: Path) -> None:
    partial = path.with_suffix(".part")
    with open(partial, "w", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in islice(distinct_pairs(general), count))
    partial.rename(path)


def peak_memory() -> int:
    """The largest resident set of this program in MB. (ru_maxrss includes that of the program which started it.)"""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) // 1024


class Stages:
    """CPU seconds of each stage, and the peak memory at its end."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        before, result = time.process_time(), work()
        self.found[name] = {
            "cpu": round(time.process_time() - before, 2),
            "peak MB": peak_memory(),
        }
        return result


def prepare(path: Path, store: Path, tokenizer_file: Path) -> dict[str, Any]:
    """All stages up to the first batch. What is stored already is opened."""
    from qkv.data.pair_sources import pair_file
    from qkv.families.translator.corpus import PairData, prepare_corpus
    from qkv.families.translator.defaults import Languages
    from qkv.families.translator.settings import DataSettings
    from qkv.families.translator.task import sample_of
    from qkv.prepared.place import Place
    from qkv.prepared.reading import read_pair_sources
    from qkv.text.tokenizer import Tokenizer

    stages = Stages()
    stages("import", lambda: None)
    place = Place(folder=store, always=True)
    pairs = stages("read", lambda: read_pair_sources([pair_file(path, "en", "de")], place).pairs)
    corpus = stages(
        "clean, split, duplicates",
        lambda: prepare_corpus(pairs, None, Languages.of("en", "de"), DataSettings(), SEED, "benchmark"),
    )
    if not tokenizer_file.exists():
        learned = stages("vocabulary", lambda: Tokenizer.learn(sample_of(corpus.train), VOCAB_SIZE))
        tokenizer_file.write_text(learned.text(), encoding="utf-8")
    tokenizer = Tokenizer.load(tokenizer_file)
    data = stages(
        "tokens", lambda: PairData(corpus.train, tokenizer, BATCH_TOKENS, MAX_LENGTH, shuffled=True)
    )
    batches = stages("order of an epoch", lambda: data.epoch(SEED))
    stages("first batch", lambda: data.batch(batches[0]))
    stages("1,000 batches", lambda: sum(len(data.batch(rows).real) for rows in islice(batches, 1_000)))
    total = {"cpu": round(time.process_time(), 2), "peak MB": list(stages.found.values())[-1]["peak MB"]}
    return {**stages.found, "whole process": total, "pairs": len(data), "batches": len(batches)}


def speed_of_library(path: Path, tokenizer_file: Path) -> dict[str, float]:
    """Pairs per CPU second of `tokenizers` alone, on lists that are in memory."""
    from qkv.text.tokenizer import Tokenizer

    library = Tokenizer.load(tokenizer_file).library
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in islice(file, 30_000)]
    before = time.process_time()
    for start in range(0, len(lines), 2_000):
        for side in (0, 1):
            library.encode_batch(
                [line[side] for line in lines[start : start + 2_000]], add_special_tokens=False
            )
    return {"pairs per CPU second": round(len(lines) / (time.process_time() - before))}


def in_new_process(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, env={**os.environ}
    )
    return json.loads(done.stdout)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(folder: Path, count: int, general: Path) -> dict[str, Any]:
    here = folder / str(count)
    here.mkdir(parents=True, exist_ok=True)
    path, store, tokenizer = here / "pairs.en-de.tsv", here / "store", here / "tokenizer.json"
    if not path.exists():
        write_pairs(path, count, general)
    own = ["--stages", str(path), str(store), str(tokenizer)]
    return {
        "pairs": count,
        "text MB": path.stat().st_size // 2**20,
        "first": in_new_process(*own),
        "restart": in_new_process(*own),
        "library": in_new_process("--library", str(path), str(tokenizer)),
        "disk MB": size_of(store) // 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--general", type=Path, default=GENERAL)
    parser.add_argument("--stages", type=Path, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--library", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stages:
        print(json.dumps(prepare(*options.stages)))
    elif options.library:
        print(json.dumps(speed_of_library(*options.library)))
    else:
        for count in options.pairs:
            print(json.dumps(measure(options.folder, count, options.general), indent=2), flush=True)


if __name__ == "__main__":
    main()
