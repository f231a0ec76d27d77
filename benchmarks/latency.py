"""How long one sentence takes, by the shape of the model: random weights, greedy, outputs of a fixed length, int8.

    python benchmarks/latency.py [--rounds 15] [--threads 2]

All shapes take turns in one run. It takes less than a minute. The last line has the time of each shape compared with 6 + 6
blocks at the same width: the target for 12 + 1 is a third.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from decoding_systems import CORES

from qkv.core.stack_config import StackConfig
from qkv.decoding.beam_options import paper_penalty
from qkv.engine import Engine, PlainSearch
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator
from qkv.runtime.network import Network

SOURCE, TARGET = 16, 20  # tokens of a caption and of its translation
SENTENCES = 3  # in a turn


@dataclass(frozen=True)
class Shape:
    encoder: int
    decoder: int
    width: int = 512
    ffn_width: int = 2_048
    vocab: int = 10_000
    cell: Literal["attention", "ssru"] = "attention"


SHAPES = {
    "base 6+6": Shape(6, 6),
    "base 12+1": Shape(12, 1),
    "base 12+1 SSRU": Shape(12, 1, cell="ssru"),
    "base 6+2 SSRU": Shape(6, 2, cell="ssru"),
    "tiny 6+2 SSRU": Shape(6, 2, 256, 1_536, 32_000, cell="ssru"),
}


def engine_of(shape: Shape, threads: int) -> Engine:
    stack = StackConfig(
        depth=shape.encoder,
        width=shape.width,
        heads=8,
        ffn_width=shape.ffn_width,
        norm="post",
        activation="relu",
        dropout=0.0,
    )
    torch.manual_seed(1)
    config = TranslatorConfig(
        vocab_size=shape.vocab,
        max_length=256,
        pad=0,
        start=1,
        end=2,
        positions="halves",
        encoder=stack,
        decoder=StackConfig(**{**vars(stack), "depth": shape.decoder}),
        decoder_cell=shape.cell,
    )
    network = Network.of(Translator(config).eval())
    return Engine(config, network.weights, int8=True, threads=threads)


def turn(engine: Engine) -> Callable[[], float]:
    """Milliseconds per sentence."""
    plain = PlainSearch(width=1, penalty=paper_penalty(0.0), least=TARGET)
    sources = [
        [3 + (7 * at + 31 * row) % 5_000 for at in range(SOURCE - 1)] + [2] for row in range(SENTENCES)
    ]

    def measure() -> float:
        begun = time.perf_counter()
        for source in sources:
            [[found]] = engine.search([source], [TARGET], plain)
            assert len(found.ids) == TARGET
        return 1_000 * (time.perf_counter() - begun) / SENTENCES

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=CORES)
    options = parser.parse_args()
    turns = {name: turn(engine_of(shape, options.threads)) for name, shape in SHAPES.items()}
    found: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(options.rounds + 1):
        for name, measure in turns.items():
            milliseconds = measure()
            if number:  # the first turn warms up
                found[name].append(milliseconds)
    times = {name: statistics.median(each) for name, each in found.items()}
    base = times["base 6+6"]
    for name, milliseconds in times.items():
        print(
            f"{name:16} {milliseconds:7.2f} ms   {milliseconds / base:5.2f} of base 6+6   (best {min(found[name]):.2f} ms)"
        )
    print("ratio " + " ".join(f"{name.replace(' ', '-')} {each / base:.2f}" for name, each in times.items()))


if __name__ == "__main__":
    main()
