"""Teachers and students of the tests of distillation: they reverse the order of number words."""

from pathlib import Path
from typing import Any

from training_commands import number_pairs

import qkv

TINY = {
    "vocab_size": 270, "width": 32, "heads": 2, "ffn_width": 64, "encoder_depth": 1, "decoder_depth": 1, "dropout": 0.0,
    "batch_tokens": 256, "processes": 1,
}  # fmt: skip
STUDENT = [
    "--vocab-size", "270", "--width", "16", "--heads", "2", "--ffn-width", "32", "--encoder-depth", "1", "--decoder-depth", "1",
    "--dropout", "0", "--batch-tokens", "256", "--validate-every", "4", "--processes", "1", "--steps", "8", "--beam-size", "1",
    "--precision", "float32",  # auto depends on a trial of speed
]  # fmt: skip


def train(pairs: Path, out: Path, source: str, target: str, **options: Any) -> None:
    languages = {"source_language": source, "target_language": target}
    settings = {"steps": 150, "valid_pairs": pairs, "progress": False, **TINY, **languages, **options}
    qkv.train_translator(pairs, output=out, **settings)


def train_models(folder: Path) -> None:
    """Train one, two (the same vocabulary), other (another vocabulary) and reverse."""
    pairs, back = number_pairs(folder / "pairs.tsv"), folder / "back.tsv"
    rows = [line.split("\t") for line in pairs.read_text().splitlines()]
    back.write_text("".join(f"{target}\t{source}\n" for source, target in rows))
    train(pairs, folder / "one", "en", "de")
    train(pairs, folder / "two", "en", "de", seed=2, steps=60)
    train(pairs, folder / "other", "en", "de", vocab_size=280)
    train(back, folder / "reverse", "de", "en")
