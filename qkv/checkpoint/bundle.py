"""The bundle: a folder with everything a model needs.

config.json        kind, architecture, defaults of the kind, format number, hash of tokenizer.json
model.safetensors  the weights, with a hash of their content
tokenizer.json     the vocabulary, if the model reads or writes text
report.json        training data, scores with signatures, training time
README.md          the model card
shortlist.safetensors  the target tokens that may translate a source (see families/translator/shortlist.py)
seen.safetensors   fingerprints of the training sentences (see evaluation/overlap.py)
learning-curve.svg the losses of the run; learning-curve.png if matplotlib is installed
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.checkpoint.arrays import StoredArrays, write_arrays
from qkv.checkpoint.files import bytes_hash, file_hash, read_json, write_file, write_json
from qkv.checkpoint.header import Shape
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.checkpoint.training_report import CURVE_FILE, history_of, learning_curve_svg
from qkv.checkpoint.training_report import REPORT_FILE as REPORT_FILE
from qkv.errors import DataError

FORMAT = 2
READABLE = (1, 2)  # format 1 has other names for some settings; the config classes know them
MODEL_FILE = "model.safetensors"
CONFIG_FILE = "config.json"
TOKENIZER_FILE = "tokenizer.json"
CURVE = f"\n## Learning curve\n\n![Training and validation loss by step]({CURVE_FILE})\n"  # in the model card
HASHES = "sha256"  # key in the config for the hashes of other files


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """The content of a bundle. Each family reads other files than config and weights itself."""

    kind: str
    config: dict[str, Any]  # architecture and defaults
    weights: StoredArrays  # read and checked when they are needed
    folder: Path

    @property
    def shapes(self) -> dict[str, Shape]:
        return self.weights.shapes


def save_bundle(
    folder: Path,
    kind: str,
    config: Mapping[str, Any],
    weights: Mapping[str, Any],
    files: Mapping[str, str | bytes] | None = None,
) -> None:
    """Weights are arrays or tensors. `files` are the names and content of other files, such as tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in (files or {}).items()
    }
    for name, content in contents.items():
        write_file(folder / name, content)
    write_arrays(folder / MODEL_FILE, weights)
    hashes = {HASHES: {name: bytes_hash(content) for name, content in contents.items()}} if contents else {}
    # Last: a folder without a config is not a bundle, so a half-written one is never used as a model.
    write_json(folder / CONFIG_FILE, {"format": FORMAT, "kind": kind, **config, **hashes})


def bind_file(folder: Path, name: str, content: bytes) -> None:
    """Add a file to a bundle, with its hash in the config, or replace it."""
    config = read_json(folder / CONFIG_FILE)
    write_file(folder / name, content)
    write_json(
        folder / CONFIG_FILE, {**config, HASHES: {**config.get(HASHES, {}), name: bytes_hash(content)}}
    )


def description_hashes(folder: Path) -> dict[str, str]:
    """Hashes of config and vocabulary, which affect a model's output even if the weights are the same."""
    files = {"settings": CONFIG_FILE, "vocabulary": TOKENIZER_FILE}
    return {
        f"{what} of the model to begin with": file_hash(folder / name)
        for what, name in files.items()
        if (folder / name).exists()
    }


def save_report(folder: Path, report: Mapping[str, Any], card: str) -> None:
    """Write the report, and the card with the learning curve of the run, if there is one.

    The report is last: it shows that a bundle is complete.
    """
    curve = learning_curve_svg(history_of(folder / "training"))
    if curve:
        write_file(folder / CURVE_FILE, curve.encode())
    if curve and CURVE not in card:
        card += CURVE
    write_file(folder / "README.md", card.encode())
    write_json(folder / REPORT_FILE, report)


def load_bundle(folder: Path) -> Bundle:
    config = read_config(folder)
    check_files(folder, config.pop(HASHES, {}))
    weights = StoredArrays(folder / MODEL_FILE)
    return Bundle(kind=config.pop("kind"), config=config, weights=weights, folder=folder)


def check_files(folder: Path, hashes: Any) -> None:
    """Check that other files were saved together with the weights. Bundles of earlier versions have no hashes."""
    if not isinstance(hashes, dict) or any(name in ("", "..") or Path(name).name != name for name in hashes):
        raise DataError(f"{folder / CONFIG_FILE}: {HASHES} must map file names to hashes.")
    for name, wanted in hashes.items():
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing.")
        if file_hash(folder / name) != wanted:
            raise DataError(
                f"{folder / name} is damaged or belongs to another model (its content does not match its hash). "
                "Restore it from a copy or train again."
            )


def read_config(folder: Path) -> dict[str, Any]:
    """The checked content of config.json, without its format number."""
    if not folder.exists():
        raise DataError(f"there is no folder {folder}. Give the folder of a trained or imported model.")
    if not (folder / CONFIG_FILE).is_file() and (folder / "training" / RUN_FILE).is_file():
        raise DataError(
            f"{folder} has no model yet: its training run stopped before the first validation. Resume the run."
        )
    if not (folder / CONFIG_FILE).is_file():
        raise DataError(f"{folder} is not a qkv model: it has no config.json.")
    config = read_json(folder / CONFIG_FILE)
    if isinstance(config, dict) and "model_type" in config and "format" not in config:
        raise DataError(f"{folder} is a Hugging Face model, not a qkv model. Import it first.")
    if not isinstance(config, dict) or "format" not in config or not isinstance(config.get("kind"), str):
        raise DataError(f"{folder} is not a qkv model: its config.json has no format and kind.")
    number = config.pop("format")
    if number not in READABLE:
        raise DataError(
            f"{folder} has bundle format {str(number)[:20]}, but this version of qkv reads formats {READABLE[0]} to "
            f"{READABLE[-1]}. Use the version of qkv that wrote it, or train it again."
        )
    return config
