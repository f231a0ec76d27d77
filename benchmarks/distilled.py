"""Speed of a distilled student beside real Marian (int8) and CTranslate2: same shape, same shortlist, same lengths.

    python benchmarks/distilled.py --prepare --data pairs.tsv.gz --marian peers/bin/pymarian
    python benchmarks/distilled.py --quick

The student has the shape of Firefox's: 6 encoder blocks of 256/1536, 2 decoder blocks, 32,000 tokens. Weights are seeded,
every source has 24 tokens and every translation 31, greedily. The shortlist is learned from aligned sentences; Marian and
CTranslate2 join the lists of a batch, ours keeps each sentence to itself. Marian's decoder has SSRU cells, as Firefox's
have. Marian comes from `pip install pymarian`, which may live in an environment of its own. `slimt` reads neither these
weights nor what `pymarian convert` writes, so it is not here. All systems have all cores, and take turns.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decoding_systems import CORES, Contest, Sources, System, ctranslate2, opened, settings
from distilled_files import SHAPE, VOCAB, WRITTEN, decoding_flags, prepare, read_prepared, word

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.families.translator.shortlist import Shortlist

QUICK_SECONDS = 42.0  # of the 50 that are allowed
PEER = Path(__file__).with_name("distilled_peer.py")


@dataclass(frozen=True, kw_only=True)
class Options:
    prepare: bool = False
    """Make the files in the folder: once, for some minutes."""
    data: Path | None = None
    """For preparing: aligned sentences, tab-separated, .gz too."""
    folder: Path = Path("runs/distilled")
    """Where the files are."""
    marian: Path | None = None
    """The command pymarian, also of another environment; by default the one that is installed."""
    quick: bool = False
    """End within 50 seconds."""
    seconds: float = 120.0
    """Time for the turns, without --quick."""


def student(encoder: int, decoder: int, width: int, ffn_width: int, heads: int, vocab_size: int) -> Any:
    import torch

    from qkv.core.stack_config import StackConfig
    from qkv.families.translator.config import TranslatorConfig
    from qkv.families.translator.model import Translator

    stacks = [
        StackConfig(
            depth=depth, width=width, heads=heads, ffn_width=ffn_width, norm="post", activation="relu", dropout=0.0
        )
        for depth in (encoder, decoder)
    ]  # fmt: skip
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab_size=vocab_size, max_length=128, pad=0, start=1, end=2, positions="halves", encoder=stacks[0], decoder=stacks[1]
    )  # fmt: skip
    return Translator(config).eval()


def ours(
    contest: Contest, shortlist: Shortlist | None
) -> Callable[[], Callable[[Sources, int], list[list[int]]]]:
    def open_it() -> Callable[[Sources, int], list[list[int]]]:
        from qkv.decoding.beam_options import paper_penalty
        from qkv.engine import Engine, PlainSearch
        from qkv.runtime.network import Network

        network, end = Network.of(contest.model), contest.model.config.end
        engine = Engine(network.config, network.weights, int8=True, threads=CORES)
        plain = PlainSearch(
            width=1, penalty=paper_penalty(0.0), least=WRITTEN, shortlist=shortlist, scored=False
        )

        def translate(sources: Sources, beam: int) -> list[list[int]]:
            batches = engine.batches([len(source) + 1 for source in sources], 1)
            given = [([[*sources[row], end] for row in rows], [WRITTEN] * len(rows)) for rows in batches]
            return [found[0].ids for batch in engine.search_batches(given, plain) for found in batch]

        return translate

    return open_it


def marian(program: Path, folder: Path, threads: int, batch: int) -> Callable[[], Any]:
    def open_it() -> Callable[[Sources, int], list[list[int]]]:
        python = program.absolute().parent / "python"
        process = subprocess.Popen(
            [str(python), str(PEER.absolute()), *decoding_flags(threads, batch).split()],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        if process.stdout is None or process.stdin is None or process.stdout.readline() != "ready\n":
            raise QkvError(
                f"{program} does not start: is pymarian installed there, and was it given to --prepare?"
            )
        given, answers = process.stdin, process.stdout

        def translate(sources: Sources, beam: int) -> list[list[int]]:
            print(json.dumps([" ".join(map(word, source)) for source in sources]), file=given, flush=True)
            return [[0] * count for count in json.loads(answers.readline())]

        return translate

    return open_it


def find_marian(options: Options) -> Path | None:
    if options.marian is not None:
        return options.marian
    found = shutil.which("pymarian") or shutil.which("pymarian", path=str(Path(sys.executable).parent))
    return Path(found) if found else None


def all_systems(options: Options, contest: Contest, shortlist: Shortlist, temporary: Path) -> list[System]:
    systems = [opened("ours", ours(contest, shortlist))]
    program = find_marian(options)
    if program is not None and (options.folder / "student.bin").is_file():
        for threads, batch in {(CORES, 64), (CORES, 16), (1, 16)}:
            name = f"Marian, {threads} threads, batches of {batch}"
            opener = marian(program, options.folder, threads, batch)
            systems.append(opened(name, opener, for_files=threads == CORES, for_sentences=batch == 16))
    if importlib.util.find_spec("ctranslate2") is not None:
        from qkv.families.translator.ctranslate2 import save_translator

        save_translator(contest.model, [word(token) for token in range(VOCAB)], temporary)
        shutil.copy(options.folder / "vmap.txt", temporary)
        for inter, intra in settings():
            opener = ctranslate2(contest, temporary, "int8", inter, intra, 32, use_vmap=True)
            name = f"CTranslate2, {inter} × {intra} threads"
            systems.append(opened(name, opener, for_files=inter == CORES, for_sentences=inter == 1))
    return systems


def take_turns(systems: list[System], task: str, sources: Sources, until: float) -> None:
    turn, longest = 0, 0.0
    while turn == 0 or time.monotonic() + longest < until:
        begun = time.monotonic()
        for system in systems:
            if task == "sentence" and system.for_sentences:
                system.turn(task, [sources[turn % len(sources)]], 1)
            elif task == "file" and system.for_files:
                system.turn(task, sources, 1)
        turn, longest = turn + 1, max(longest, time.monotonic() - begun)


def ratio(systems: list[System], task: str) -> float:
    """The fastest peer over ours."""
    times = [each.time_of(task, 1) for each in systems[1:] if (task, 1) in each.seconds]
    return min(times) / systems[0].time_of(task, 1)


def measure(options: Options, began: float) -> str:
    sources, shortlist = read_prepared(options.folder)
    contest = Contest("student", student(*SHAPE.values(), VOCAB), sources, WRITTEN)  # type: ignore[arg-type]
    temporary = Path(tempfile.mkdtemp(prefix="qkv-distilled-"))
    try:
        systems = all_systems(options, contest, shortlist, temporary)
        if len(systems) == 1:
            raise QkvError("neither pymarian nor ctranslate2 is installed: there is nothing to compare with.")
        for system in systems:
            lengths = {len(each) for each in system.translate(sources[:2], 1)}
            if lengths != {WRITTEN}:
                raise QkvError(
                    f"{system.name} writes {lengths} tokens instead of {WRITTEN}: the comparison is unfair."
                )
        ready, end = (
            time.monotonic(),
            began + QUICK_SECONDS if options.quick else time.monotonic() + options.seconds,
        )
        take_turns(systems, "sentence", sources, ready + 0.3 * (end - ready))
        take_turns(systems, "file", sources[:128] if options.quick else sources, end)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for system in systems:
        tasks = [f"{task} {1e3 * system.time_of(task, 1):.2f} ms" for task, _ in system.seconds]
        print(f"{system.name}: {', '.join(tasks)} per sentence")
    return f"ratio file {ratio(systems, 'file'):.2f} sentence {ratio(systems, 'sentence'):.2f}"


def latency() -> str:
    """One sentence with models of base width: 12 + 1 blocks over 6 + 6."""
    systems = []
    sources = [[3 + (7 * place + number) % 9_000 for place in range(14)] for number in range(20)]
    for encoder, decoder in ((12, 1), (6, 6)):
        model = student(encoder, decoder, 512, 2_048, 8, 10_000)
        contest = Contest(f"{encoder} + {decoder}", model, sources, WRITTEN)
        systems.append(opened(contest.name, ours(contest, None)))
        systems[-1].translate(sources[:1], 1)
    take_turns(systems, "sentence", sources, time.monotonic() + 15)
    first, second = (system.time_of("sentence", 1) for system in systems)
    return f"base width, one sentence: 12 + 1 blocks {1e3 * first:.1f} ms, 6 + 6 {1e3 * second:.1f} ms: {first / second:.2f} of it"


def run(options: Options) -> None:
    began = time.monotonic()
    if options.prepare:
        if options.data is None:
            raise QkvError("--prepare needs --data: a file with aligned sentences, tab-separated.")
        prepare(options.data, options.folder, find_marian(options))
        return
    last = measure(options, began)
    if not options.quick:
        print(latency())
    print(last)


if __name__ == "__main__":
    try:
        run(read_options(Options, sys.argv[1:], prog="benchmarks/distilled.py", description=__doc__))
    except QkvError as error:
        sys.exit(fail(str(error)))
