"""Small random translators of several shapes and one vocabulary, on the engine: for searches with more than one model."""

from dataclasses import replace

import torch

from qkv.core.stack_config import StackConfig
from qkv.decoding.beam_options import paper_penalty
from qkv.engine import Engine
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator
from qkv.runtime.network import Network

PAD, START, END = 0, 1, 2
STACK = StackConfig(depth=2, width=12, heads=3, ffn_width=13, norm="post", activation="relu", dropout=0.0)
CONFIG = TranslatorConfig(
    vocab_size=37,
    max_length=29,
    pad=PAD,
    start=START,
    end=END,
    positions="interleaved",
    encoder=STACK,
    decoder=replace(STACK, depth=3, ffn_width=17),
)
PRE = replace(STACK, norm="pre", width=24, heads=2, activation="gelu")
SHAPES = {
    "post": CONFIG,
    "pre, rotary": replace(CONFIG, positions="rotary", encoder=PRE, decoder=PRE),
    "SSRU": replace(CONFIG, decoder_cell="ssru"),
    "a bias, a smaller context": replace(CONFIG, output_bias=True, max_length=24),
}
SOURCES = [[3, 4, 5, 6, 7, 8, END], [9, 10, 3, END], [5, END]]
LIMITS = [20, 15, 9]
PENALTY = paper_penalty(0.6)


def engine_of(
    config: TranslatorConfig,
    *,
    int8: bool,
    threads: int,
    seed: int = 1,
    noise: float = 0.0,
    sharpness: float = 1.0,
) -> Engine:
    """Models with the same seed are the same, up to some noise in their weights. With more sharpness they are more certain."""
    torch.manual_seed(seed)
    model = Translator(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
    if noise:
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * noise)
    model.tokens.weight.mul_(sharpness)
    return Engine(config, Network.of(model).weights, int8=int8, threads=threads)


def engines(vocab: int, *, int8: bool, threads: int) -> list[Engine]:
    """One of every shape."""
    configs = (replace(each, vocab_size=vocab) for each in SHAPES.values())
    return [engine_of(each, int8=int8, threads=threads) for each in configs]
