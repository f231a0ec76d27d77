"""What JoeyNMT's command is given: files of pieces separated by spaces, and its configuration."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from marian_model import Size

from qkv.data.parallel import ParallelText
from qkv.text.tokenizer import Tokenizer


class Settings(Size, Protocol):
    """What the settings of any benchmark say of a training run."""

    @property
    def batch_tokens(self) -> int: ...

    @property
    def batches(self) -> int: ...  # added up for an update

    @property
    def learning_rate(self) -> float: ...

    @property
    def warmup_steps(self) -> int: ...

    @property
    def adam_betas(self) -> tuple[float, float]: ...

    @property
    def label_smoothing(self) -> float: ...


def is_installed(python: str) -> bool:
    asked = subprocess.run([python, "-c", "import joeynmt.training"], capture_output=True)
    return asked.returncode == 0


def speeds_in(log: str) -> list[float]:
    """Target tokens a second, of each update."""
    return [float(speed) for speed in re.findall(r"Tokens per Sec:\s*([\d.]+)", log)]


def write_pieces(folder: Path, train: ParallelText, dev: ParallelText, tokenizer: Tokenizer) -> None:
    folder.mkdir(parents=True)
    for part, pairs in {"train": train, "dev": dev}.items():
        for language, sentences in {"en": pairs.source, "de": pairs.target}.items():
            (folder / f"{part}.{language}").write_text(as_pieces(tokenizer, sentences), encoding="utf-8")
    ids = range(tokenizer.end + 1, len(tokenizer))
    vocabulary = "\n".join(tokenizer.library.id_to_token(number) for number in ids)
    (folder / "vocabulary.txt").write_text(f"{vocabulary}\n", encoding="utf-8")


def as_pieces(tokenizer: Tokenizer, sentences: Sequence[str]) -> str:
    lines = tokenizer.encode_all(sentences)
    return "".join(" ".join(map(tokenizer.library.id_to_token, ids)) + "\n" for ids in lines)


def from_pieces(tokenizer: Tokenizer, line: str) -> str:
    ids = [tokenizer.library.token_to_id(piece) for piece in line.split()]
    return tokenizer.decode([number for number in ids if number is not None])


def joey_config(folder: Path, settings: Settings, seed: int, validate_every: int) -> dict[str, Any]:
    """For the pieces in `folder`/data; the model goes to `folder`/model."""
    side = {"level": "word", "voc_file": str(folder / "data" / "vocabulary.txt")}
    stack = {
        "type": "transformer",
        "num_layers": settings.depth,
        "num_heads": settings.heads,
        "embeddings": {"embedding_dim": settings.width, "scale": True, "dropout": settings.dropout},
        "hidden_size": settings.width,
        "ff_size": settings.hidden,
        "dropout": settings.dropout,
        "layer_norm": "post",
        "activation": "relu",
    }
    return {
        "name": "benchmark",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": seed,
        "data": {
            "train": str(folder / "data" / "train"),
            "dev": str(folder / "data" / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": list(settings.adam_betas),
            "learning_rate": settings.learning_rate,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": settings.warmup_steps,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": settings.label_smoothing,
            "loss": "crossentropy",
            "normalization": "tokens",
            "batch_size": settings.batch_tokens,
            "batch_type": "token",
            "batch_multiplier": settings.batches,
            "epochs": 10_000,  # the clock ends it
            "validation_freq": validate_every,
            "logging_freq": 1,
            "early_stopping_metric": "loss",
            "print_valid_sents": [],
            "keep_best_ckpts": -1,  # all of them
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "normal",
            "embed_init_weight": settings.width**-0.5,
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
        "testing": {},  # which it wants, also for training
    }
