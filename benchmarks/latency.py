"""How long one sentence takes, by the shape of the model: random weights, greedy, outputs of a fixed length, int8.

    python benchmarks/latency.py [--rounds 15] [--threads 2]

All shapes take turns in one run. It takes less than a minute. The last line has the time of each shape compared with 6 + 6
blocks at base width: the target for 12 + 1 is a third. Two rows are 6 + 6 blocks with a student that drafts.
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
BASE = "base 6+6"
DRAFTER = Shape(6, 2, 256, 1_536, cell="ssru")  # with the vocabulary of the base


def engine_of(shape: Shape, threads: int, wrong: int = 0) -> Engine:
    """A model that says a script, whatever it reads; every `wrong`th word of it is another one. 0: it knows the script."""
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
        max_length=64,
        pad=0,
        start=1,
        end=2,
        positions="learned",
        encoder=stack,
        decoder=StackConfig(**{**vars(stack), "depth": shape.decoder}),
        decoder_cell=shape.cell,
    )
    model = Translator(config).eval().requires_grad_(False)
    follow_script(model, wrong)
    return Engine(config, Network.of(model).weights, int8=True, threads=threads)


def follow_script(model: Translator, wrong: int) -> None:
    """What the decoder adds is zero, and its positions are the words of the script: the same work, with known outputs."""
    for name, parameter in model.decoder.named_parameters():
        if name.endswith(("output.weight", "contract.weight", "cell.sublayer.input.weight")):
            parameter.zero_()
    script = [3 + 7 * at + (at % wrong == wrong - 1 if wrong else 0) for at in range(model.config.max_length)]
    model.get_parameter("target_positions.table").copy_(model.tokens.weight[script] * 1_000)


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


def systems(threads: int) -> dict[str, Engine]:
    found = {name: engine_of(shape, threads) for name, shape in SHAPES.items()}
    for wrong in (3, 5):
        drafter = engine_of(DRAFTER, threads, wrong)
        found[f"base 6+6 drafted, {wrong - 1} of {wrong} right"] = found[BASE].drafted_by(drafter)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=CORES)
    options = parser.parse_args()
    turns = {name: turn(engine) for name, engine in systems(options.threads).items()}
    found: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(options.rounds + 1):
        for name, measure in turns.items():
            milliseconds = measure()
            if number:  # the first turn warms up
                found[name].append(milliseconds)
    times = {name: statistics.median(each) for name, each in found.items()}
    for name, milliseconds in times.items():
        share = milliseconds / times[BASE]
        print(f"{name:34} {milliseconds:7.2f} ms   {share:5.2f} of {BASE}   (best {min(found[name]):.2f} ms)")
    print(
        "ratio "
        + " ".join(f"{name.replace(' ', '-')} {each / times[BASE]:.2f}" for name, each in times.items())
    )


if __name__ == "__main__":
    main()
