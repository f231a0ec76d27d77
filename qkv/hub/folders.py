"""A folder of weights as others publish them: what kind of model it holds, and that model as one of ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from qkv.checkpoint.files import read_json
from qkv.errors import UserError

WEIGHTS = "model.safetensors"


class Imported(Protocol):
    """What can be saved as a bundle."""

    def save(self, folder: Path) -> None: ...

    def facts(self) -> dict[str, str]: ...


def bert(folder: Path, config: dict[str, Any]) -> Imported:
    from qkv.hub.bert_folder import bert_in

    return bert_in(folder, config)


KINDS: dict[str, Callable[[Path, dict[str, Any]], Imported]] = {"bert": bert}  # by model_type of config.json


def open_folder(folder: Path) -> Imported:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: give one with config.json and {WEIGHTS}.")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} has no config.json: give the folder of a model as it was published.")
    config = read_json(folder / "config.json")
    if isinstance(config, dict) and "kind" in config and "format" in config:
        raise UserError(f"{folder} is a model of qkv already: use it as it is.")
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind not in KINDS:
        raise UserError(f"{folder}: config.json has model_type '{kind}', and qkv imports {', '.join(KINDS)}.")
    return KINDS[kind](folder, config)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Safetensors alone: what was pickled could run anything when it is read."""
    path = folder / WEIGHTS
    if not path.is_file():
        others = [
            each.name for each in sorted(folder.iterdir()) if each.suffix in (".bin", ".pt", ".pth", ".ckpt")
        ]
        pickled = f" {others[0]} is pickled, which qkv never reads: save it as safetensors." if others else ""
        raise UserError(f"{folder} has no {WEIGHTS}.{pickled}")
    try:
        return load_file(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again.") from None
