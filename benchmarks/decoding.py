"""Speed of translation beside CTranslate2 and Hugging Face: same weights, same outputs, one run, all in turns.

Hugging Face's Marian is beside it where weights are random: it has no place for the rotary positions of our recipes.

One sentence at a time (how long somebody waits) and a whole file (how much a machine does), greedy and with a beam.
Every system has the same number of cores. A figure of one system alone says little on a shared machine: read ratios.
"""

import importlib.util
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decoding_systems import (
    CORES,
    FIXED,
    Contest,
    Sources,
    System,
    ctranslate2,
    marian,
    opened,
    ours,
    settings,
)
from rich.console import Console
from rich.table import Table

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError

QUICK_SECONDS = 40.0  # of the 50 that are allowed
BEAM = 5


@dataclass(frozen=True, kw_only=True)
class Options:
    quick: bool = False
    """End within 50 seconds: against CTranslate2 alone, on random weights of the base shape, greedily."""
    model: tuple[Path, ...] = ()
    """Bundles to translate with; without them, random weights of the base and the tiny shape and answers of 20 ids."""
    data: Path | None = None
    """Folder with Multi30k, whose test2016 is translated; without it, made-up sentences of about the same lengths."""
    rounds: int = 3
    """Turns of each system."""
    sentences: int = 20
    """Sentences that are translated one by one in a turn."""
    lines: int = 1_000
    """Sentences of the file."""
    out: Path | None = None
    """File for the results as JSON."""


SHAPES = {"base": (6, 512, 2_048, 8), "tiny": (4, 128, 256, 4)}  # depth, width, hidden, heads
VOCAB = 10_000


def all_systems(contest: Contest, folder: Path) -> list[System]:
    folders = {"int8": folder, "float32": folder}
    found = [
        opened("ours, int8", ours(contest, int8=True)),
        opened("ours, float32", ours(contest, int8=False)),
    ]
    for compute, where in folders.items():
        for inter, intra in settings():
            name = f"CTranslate2, {compute}, {inter} × {intra} threads"
            opener = ctranslate2(contest, where, compute, inter, intra, 32)
            found.append(opened(name, opener, for_sentences=inter == 1))
    if contest.fixed is not None and importlib.util.find_spec("transformers") is not None:
        found.append(opened("Hugging Face generate, float32", marian(contest, 32)))
    return found


# What is translated ------------------------------------------------------------------------------------------


def made_up(count: int) -> Sources:
    """Ids drawn at random, as many as picture captions have."""
    generator = random.Random(1)
    lengths = [min(40, max(4, round(generator.gauss(14, 4)))) for _ in range(count)]
    return [[generator.randrange(3, VOCAB) for _ in range(length)] for length in lengths]


def captions(options: Options) -> list[str]:
    if options.data is None:
        raise QkvError("--model needs --data: a trained model translates real sentences.")
    return lines_of(options.data, "test_2016_flickr.lc.norm.tok.en")[: options.lines]


def lines_of(folder: Path, name: str) -> list[str]:
    if not (folder / name).is_file():
        raise QkvError(f"{folder} has no {name}: --data wants the folder with Multi30k.")
    return (folder / name).read_text(encoding="utf-8").splitlines()


def in_pieces(options: Options, folder: Path) -> Sources:
    """Test2016 in the pieces of a vocabulary that is learned from the training part, as for a trained model."""
    from qkv.text.tokenizer import Tokenizer

    texts = [line for language in ("en", "de") for line in lines_of(folder, f"train.lc.norm.tok.{language}")]
    return Tokenizer.learn(texts, VOCAB).encode_all(captions(options))


def random_contest(shape: str, sources: Sources) -> Contest:
    import torch

    from qkv.core.stack_config import StackConfig
    from qkv.families.translator.config import TranslatorConfig
    from qkv.families.translator.model import Translator

    depth, width, hidden, heads = SHAPES[shape]
    stack = StackConfig(
        depth=depth, width=width, heads=heads, ffn_width=hidden, norm="post", activation="relu", dropout=0.0
    )
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab_size=VOCAB,
        max_length=256,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=stack,
    )
    return Contest(shape, Translator(config).eval(), sources, FIXED)


def bundle_contest(path: Path, options: Options) -> Contest:
    from qkv.families.loading import load_for
    from qkv.families.translator.product import Translator

    translator = load_for(path, "translate", Translator)
    return Contest(
        path.name, translator.model.eval(), translator.tokenizer.encode_all(captions(options)), None
    )


def contests(options: Options) -> list[Contest]:
    if options.model:
        return [bundle_contest(path, options) for path in options.model]
    sources = made_up(options.lines) if options.data is None else in_pieces(options, options.data)
    return [random_contest(shape, sources) for shape in SHAPES]


# Measuring ----------------------------------------------------------------------------------------------------


def as_folder(contest: Contest, folder: Path) -> Path:
    from qkv.families.translator.ctranslate2 import save_translator

    save_translator(contest.model, [f"p{token}" for token in range(contest.model.config.vocab_size)], folder)
    return folder


def take_turns(systems: list[System], contest: Contest, options: Options) -> None:
    from qkv.progress.terminal import count_progress

    with count_progress(f"{contest.name}: turns", options.rounds * 4 * len(systems)) as done:
        for turn in range(options.rounds):
            few = contest.sources[turn * options.sentences :][: options.sentences]
            for beam in (1, BEAM):
                for system in systems:
                    if system.for_sentences:
                        system.turn("sentence", few, beam)
                    done(1)
                    if system.for_files:
                        system.turn("file", contest.sources, beam)
                    done(1)


def measured(options: Options) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for contest in contests(options):
        folder = Path(tempfile.mkdtemp(prefix="qkv-decoding-"))
        try:
            systems = all_systems(contest, as_folder(contest, folder))
            for system in systems:
                system.translate(contest.sources[:2], 1)
            take_turns(systems, contest, options)
            results[contest.name] = {
                **table_of(systems),
                "growth": growth(systems[0], contest),
                "of_bandwidth": bandwidth_share(systems[0], contest),
                "same": agreement(systems, contest),
            }
            show(contest.name, results[contest.name])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return results


def table_of(systems: list[System]) -> dict[str, Any]:
    rows = {
        system.name: {
            "load_seconds": system.load_seconds,
            "megabytes": system.megabytes,
            **{f"{task}_{beam}": system.time_of(task, beam) * 1e3 for task, beam in system.seconds},
        }
        for system in systems
    }
    return {"milliseconds": rows, "ratios": {key: ratio(systems, *key) for key in (("sentence", 1), ("sentence", BEAM), ("file", 1), ("file", BEAM))}}  # fmt: skip


def ratio(systems: list[System], task: str, beam: int) -> float:
    """CTranslate2 with int8 at its best setting, over ours with int8."""
    others = [
        system.time_of(task, beam)
        for system in systems
        if system.name.startswith("CTranslate2, int8") and (task, beam) in system.seconds
    ]
    return min(others) / systems[0].time_of(task, beam)


def growth(system: System, contest: Contest) -> dict[str, float]:
    """Milliseconds a sentence as sources get longer, one at a time, and as batches get larger."""
    found: dict[str, float] = {}
    for length in (8, 16, 32):
        source = (contest.sources[0] * length)[:length]
        system.translate([source], 1)
        begun = time.perf_counter()
        for _ in range(5):
            system.translate([source], 1)
        found[f"source of {length}"] = (time.perf_counter() - begun) / 5 * 1e3
    for count in (1, 4, 16, 64, 256):
        begun = time.perf_counter()
        system.translate(contest.sources[:count], 1)
        found[f"batch of {count}"] = (time.perf_counter() - begun) / count * 1e3
    return found


def bandwidth_share(system: System, contest: Contest) -> float:
    """Of one sentence: the time in which the decoder's weights could be read once for each id, over the time it took."""
    import torch

    stack, vocab = contest.model.config.decoder, contest.model.config.vocab_size
    weights = (
        stack.depth * (6 * stack.width**2 + 2 * stack.width * stack.ffn_width) + vocab * stack.width
    )  # bytes
    block = torch.ones(16_000_000, dtype=torch.float32)
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        block.sum()
        best = min(best, time.perf_counter() - begun)
    speed = block.numel() * 4 / best
    some = contest.sources[:32]
    ids = contest.fixed or 1 + sum(map(len, system.translate(some, 1))) / len(some)  # with the end mark
    return weights * ids / speed / system.time_of("sentence", 1)


def agreement(systems: list[System], contest: Contest) -> dict[str, float]:
    """How many answers ours and each of the others in float32 have in common, greedily."""
    some = contest.sources[:32]
    exact = [system for system in systems if "float32" in system.name]
    wanted = exact[0].translate(some, 1)
    return {
        system.name: sum(one == other for one, other in zip(wanted, system.translate(some, 1), strict=True))
        / len(some)
        for system in exact[1:]
    }


def show(name: str, result: dict[str, Any]) -> None:
    keys = [f"{task}_{beam}" for task in ("sentence", "file") for beam in (1, BEAM)]
    titles = [f"{task}, {'greedy' if beam == 1 else f'beam {BEAM}'}" for task in ("sentence", "file") for beam in (1, BEAM)]  # fmt: skip
    table = Table("milliseconds a sentence", *titles, "opened in", "memory", title=name)
    for system, row in result["milliseconds"].items():
        cells = [f"{row[key]:.2f}" if key in row else "" for key in keys]
        table.add_row(system, *cells, f"{row['load_seconds']:.2f} s", f"{row['megabytes']:.0f} MB")
    Console(width=max(140, shutil.get_terminal_size().columns)).print(table)
    times = ", ".join(f"{title} {result['ratios'][key]:.2f} ×" for title, key in zip(titles, result["ratios"], strict=True))  # fmt: skip
    print(f"{name}: faster than CTranslate2 int8 by {times}")
    print(
        f"{name}: of the time of one sentence, {100 * result['of_bandwidth']:.0f} % is what reading the weights takes"
    )
    same = ", ".join(f"{100 * share:.0f} % as {system}" for system, share in result["same"].items())
    print(f"{name}: same answers of ours, float32: {same}")
    print(f"{name}: " + ", ".join(f"{key} {value:.2f} ms" for key, value in result["growth"].items()))


def measured_quickly(began: float) -> str:
    """The last line. All systems translate the same in turns, as often as there is time."""
    from qkv.engine.library import library

    building = threading.Thread(target=library)  # where there is none yet, that takes seconds
    building.start()
    contest = random_contest("base", made_up(96))
    folder = Path(tempfile.mkdtemp(prefix="qkv-decoding-"))
    try:
        as_folder(contest, folder)
        building.join()
        systems = [opened("ours, int8", ours(contest, int8=True))]
        for inter, intra in settings():
            opener = ctranslate2(contest, folder, "int8", inter, intra, 32)
            name = f"CTranslate2, int8, {inter} × {intra} threads"
            system = opened(name, opener, for_sentences=inter == 1, for_files=inter == CORES)
            systems.append(system)
        for system in systems:
            system.translate(contest.sources[:1], 1)
        ready = time.monotonic() - began
        longest = repeat(systems, "sentence", contest.sources, began, ready + 0.45 * (QUICK_SECONDS - ready))
        # On a busy machine the file is shorter: it takes about a seventh of the time of as many sentences.
        left = QUICK_SECONDS - (time.monotonic() - began)
        count = max(16, min(64, int(3 * left / longest)))
        repeat(systems, "file", contest.sources[:count], began, QUICK_SECONDS)
        for system in systems:
            times = ", ".join(
                f"{task} {1e3 * system.time_of(task, beam):.1f} ms" for task, beam in system.seconds
            )
            print(f"{system.name}: {times}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return f"ratio sentence {ratio(systems, 'sentence', 1):.2f} file {ratio(systems, 'file', 1):.2f}"


def repeat(systems: list[System], task: str, sources: Sources, began: float, until: float) -> float:
    """Turns of all until so many seconds have passed; the time of the longest round."""
    turn, longest = 0, 0.0
    while turn == 0 or time.monotonic() - began + longest < until:
        begun = time.monotonic()
        for system in systems:
            if task == "sentence" and system.for_sentences:
                system.turn(task, [sources[turn % len(sources)]], 1)
            elif task == "file" and system.for_files:
                system.turn(task, sources, 1)
        turn, longest = turn + 1, max(longest, time.monotonic() - begun)
    return longest


def run(options: Options) -> None:
    began = time.monotonic()
    if importlib.util.find_spec("ctranslate2") is None:
        raise QkvError("this compares with CTranslate2, which is not installed: pip install ctranslate2.")
    if options.quick:
        print(measured_quickly(began))
        return
    results = measured(options)
    if options.out is not None:
        written = {name: {**each, "ratios": {f"{task}_{beam}": value for (task, beam), value in each["ratios"].items()}} for name, each in results.items()}  # fmt: skip
        options.out.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        run(read_options(Options, sys.argv[1:], prog="benchmarks/decoding.py", description=__doc__))
    except QkvError as error:
        sys.exit(fail(str(error)))
