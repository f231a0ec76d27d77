"""A translator that needs no training: it copies its source, at the cost of any model of its shape.

Untrained weights write loops that never end, and a program that checks its translations then measures its retries. Here
positions and tokens have columns of their own: the first decoder block attends to the source position that it is about to
write, and the output layer reads the token from there. The other layers have random weights whose results are multiplied
by zero. All products, norms and searches take as long as in a trained model of this shape, and outputs are as long as
their sources.
"""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_bundle
from qkv.configs import to_dict
from qkv.core.stack_config import StackConfig
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.shortlist import fit_shortlist
from qkv.text.tokenizer import Tokenizer

SHARPNESS = 40.0  # of the attention to one position
WORDS = 5_000
STRENGTH = 6.0  # of what is copied, compared with the token that was written last


def copying_weights(config: TranslatorConfig, seed: int = 1) -> dict[str, np.ndarray]:
    """Weights of a model with learned positions and norms before its layers."""
    generator = np.random.default_rng(seed)
    width, heads = config.encoder.width, config.encoder.heads
    head = width // heads
    places = head  # the first columns hold positions, the others tokens
    weights: dict[str, Any] = {}
    for name, shape in config.shapes():
        weights[name] = generator.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)
        if name.endswith("norm.weight"):
            weights[name] = np.ones(shape, np.float32)
        elif name.endswith("bias") or name.endswith(("output.weight", "contract.weight")):
            weights[name] = np.zeros(shape, np.float32)
    tokens = np.zeros((config.vocab_size, width))
    tokens[:, places:] = of_length_one(generator.normal(size=(config.vocab_size, width - places)))
    weights["tokens.weight"] = tokens.astype(np.float32)
    table = np.zeros((config.max_length, width))
    table[:, :places] = of_length_one(generator.normal(size=(config.max_length, places))) * width**0.5
    for side in ("source", "target"):
        weights[f"{side}_positions.table"] = table.astype(np.float32)
    cross = "decoder.blocks.0.cross_attention.sublayer"
    for each in ("query", "key", "value", "output"):
        weights[f"{cross}.{each}.weight"] = np.zeros((width, width), np.float32)
    share = (width - places) // heads  # columns of a token that a head copies
    for number in range(heads):
        rows = slice(number * head, (number + 1) * head)
        weights[f"{cross}.query.weight"][rows, :places] = np.eye(head) * SHARPNESS**0.5
        weights[f"{cross}.key.weight"][rows, :places] = np.eye(head) * SHARPNESS**0.5
        for column in range(share):
            at = places + number * share + column
            weights[f"{cross}.value.weight"][number * head + column, at] = 1
            weights[f"{cross}.output.weight"][at, number * head + column] = STRENGTH
    return weights


def of_length_one(rows: np.ndarray) -> np.ndarray:
    rows = rows - rows.mean(1, keepdims=True)  # as a norm leaves them
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def captions(count: int, seed: int = 1) -> list[str]:
    """Made-up sentences with the lengths of picture captions, of words as frequent as those of a language."""
    generator = random.Random(0)  # every seed has the same words
    syllables = [
        first + vowel for first in "bdfghklmnprstvwz" for vowel in ("a", "e", "i", "o", "u", "er", "en")
    ]
    words = [
        "".join(generator.choices(syllables, k=generator.choice((1, 2, 2, 3, 3, 4)))) for _ in range(WORDS)
    ]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    generator = random.Random(seed)
    lines = []
    for _ in range(count):
        length = min(30, max(4, round(generator.gauss(12, 4))))
        lines.append(" ".join(generator.choices(words, weights, k=length)).capitalize() + ".")
    return lines


@dataclass(frozen=True)
class Shape:
    depth: int
    width: int
    ffn_width: int
    heads: int


CAPTIONS = Shape(4, 128, 256, 4)
"""Of the Multi30k recipe."""
BASE = Shape(6, 512, 2_048, 8)
"""Of "Attention Is All You Need", OPUS-MT and Argos Translate."""


def save_copying_model(
    folder: Path, vocab_size: int = 8_000, *, shape: Shape = CAPTIONS, beam_size: int = 1
) -> None:
    """A bundle with as many blocks in the encoder as in the decoder."""
    tokenizer = Tokenizer.learn(captions(20_000, seed=2), vocab_size)
    stack = StackConfig(
        depth=shape.depth, width=shape.width, heads=shape.heads, ffn_width=shape.ffn_width, norm="pre",
        activation="relu", dropout=0.0,
    )  # fmt: skip
    config = TranslatorConfig(
        vocab_size=len(tokenizer), max_length=256, pad=tokenizer.pad, start=tokenizer.start, end=tokenizer.end,
        positions="learned", encoder=stack, decoder=stack,
    )  # fmt: skip
    settings = {
        "architecture": config.architecture, "model": to_dict(config), "languages": {"source": "en", "target": "de"},
        "max_source_length": 255, "beam_size": beam_size, "length_penalty": 0.6,
    }  # fmt: skip
    save_bundle(folder, "translator", settings, copying_weights(config), {TOKENIZER_FILE: tokenizer.text()})


def save_with_shortlist(folder: Path, listed: Path) -> None:
    """A copy of the bundle with a shortlist that is learned from captions and their copies."""
    shutil.copytree(folder, listed)
    tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
    ids = tokenizer.encode_all(captions(5_000, seed=3))
    pairs = zip(ids, ids, strict=True)
    fit_shortlist(pairs, len(tokenizer), end=tokenizer.end, translations=30).with_loss(0.0).save(listed)
