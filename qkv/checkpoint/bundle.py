"""The bundle: a folder that a person can open and that holds all a model needs.

config.json        kind, architecture, languages, decoding defaults, format number
model.safetensors  the weights, with a hash of their content
tokenizer.json     the vocabulary
report.json        what it was trained on, scores with signatures, how long it took
README.md          the same for a reader
seen.safetensors   fingerprints of the training sentences (made and read by evaluation/overlap.py)
learning-curve.png where matplotlib is installed
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from qkv.checkpoint.files import read_json, read_tensors, write_file, write_json, write_tensors
from qkv.errors import UserError
from qkv.text.tokenizer import Tokenizer

FORMAT = 1
MODEL_FILE = "model.safetensors"
CONFIG_FILE = "config.json"


@dataclass(frozen=True, kw_only=True)
class Bundle:
    kind: str
    config: dict[str, Any]  # architecture, languages and decoding defaults
    weights: Mapping[str, Tensor]
    tokenizer: Tokenizer


def save_bundle(folder: Path, bundle: Bundle) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "tokenizer.json", bundle.tokenizer.text().encode())
    write_tensors(folder / MODEL_FILE, bundle.weights)
    # Last: a folder without a config is no bundle, so a half-written one is never taken for a model.
    write_json(folder / CONFIG_FILE, {"format": FORMAT, "kind": bundle.kind, **bundle.config})


def save_report(folder: Path, report: Mapping[str, Any], card: str) -> None:
    write_json(folder / "report.json", report)
    write_file(folder / "README.md", card.encode())


def load_bundle(folder: Path) -> Bundle:
    config = read_config(folder)
    return Bundle(
        kind=config.pop("kind"),
        config=config,
        weights=read_tensors(folder / MODEL_FILE),
        tokenizer=Tokenizer.load(folder / "tokenizer.json"),
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The checked content of config.json, without its format number."""
    if not folder.exists():
        raise UserError(f"there is no folder {folder}: give one that `qkv train` or `qkv demo` has made.")
    if not (folder / CONFIG_FILE).is_file():
        raise UserError(f"{folder} is not a model made by qkv: it has no config.json.")
    config = read_json(folder / CONFIG_FILE)
    if not isinstance(config, dict) or "format" not in config or "kind" not in config:
        raise UserError(f"{folder} is not a model made by qkv: its config.json has no format and kind.")
    number = config.pop("format")
    if number != FORMAT:
        raise UserError(
            f"{folder} has bundle format {number}, and this qkv reads format {FORMAT}; "
            f"use the version of qkv that wrote it, or train it again."
        )
    return config
