"""Read a folder in Hugging Face's layout. It is untrusted: no code is run and everything is checked."""

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors import SafetensorError
from torch import Tensor

from qkv.checkpoint.files import HASH
from qkv.checkpoint.tensors import tensors_hash
from qkv.errors import DataError, OptionError, QkvError

ADAPTER = "adapter_config.json"
CONFIG, WEIGHTS, PICKLED = "config.json", "model.safetensors", "pytorch_model.bin"
LARGEST_JSON = 64 << 20  # bytes; a tokenizer.json of a large vocabulary has a few million
LARGEST_HEADER = 32 << 20  # bytes of the header of a weight file, which names each weight


@dataclass(frozen=True, kw_only=True)
class Published:
    """The content of a folder. Weights are in float32, under their original names."""

    folder: Path
    config: dict[str, Any]
    weights: Mapping[str, Tensor]

    @property
    def where(self) -> str:
        return str(self.folder)

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """The content of one of its files; empty if there is no such file."""
        return read_object(self.folder / name) if self.has(name) else {}


def read_folder(folder: Path, *, allow_pickle: bool = False) -> Published:
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}.")
    if not (folder / CONFIG).is_file():
        raise DataError(f"{folder} is not a published model: it has no {CONFIG}.")
    config = read_object(folder / CONFIG)
    if "format" in config and "kind" in config:
        raise DataError(f"{folder} is already a qkv model; no import is needed.")
    if "auto_map" in config:
        raise DataError(
            f"{folder}: its config.json needs custom code (auto_map), which qkv never runs. Without that code the model "
            "cannot be imported."
        )
    if (folder / ADAPTER).is_file():
        raise DataError(
            f"{folder} has an {ADAPTER}: it is an adapter for another model. Merge the two first."
        )
    return Published(folder=folder, config=config, weights=read_weights(folder, allow_pickle))


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file of a reasonable size that holds an object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} should contain an object, not a {type(value).__name__}.")
    return value


def check_size(path: Path) -> Path:
    """The path of a text file. It is an error if the file is too large."""
    size = path.stat().st_size
    if size > LARGEST_JSON:
        raise DataError(f"{path} has {size:,} bytes, which is too large to read.")
    return path


def read_text(path: Path) -> str:
    try:
        return check_size(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a text file in UTF-8 ({error}).") from None


def read_json(path: Path) -> Any:
    try:
        text = check_size(path).read_text(encoding="utf-8")
        value = json.loads(text)
        if "\\ud" in text.lower():  # half a surrogate pair can only be written as an escape
            json.dumps(value, ensure_ascii=False).encode()
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}).") from None
    return value


def added_tokens(path: Path) -> list[Any]:
    """The tokens that a tokenizer.json adds to those of its model, in order."""
    added = read_object(path).get("added_tokens")
    return (
        [each.get("content") for each in added if isinstance(each, dict)] if isinstance(added, list) else []
    )


def read_weights(folder: Path, allow_pickle: bool) -> dict[str, Tensor]:
    for name, read in ((WEIGHTS, read_safetensors), (PICKLED, read_pickled)):
        whole, index = folder / name, folder / f"{name}.index.json"
        if not (whole.is_file() or index.is_file()):
            continue
        if name == PICKLED and not allow_pickle:
            raise pickle_refusal(folder)
        paths = [whole] if whole.is_file() else shards(folder, index)
        found: dict[str, Tensor] = {}
        for path in paths:
            for weight, tensor in read(path).items():
                if weight in found:
                    raise DataError(f"{folder}: the weight {weight} is in two files.")
                found[weight] = tensor
        if not whole.is_file():
            check_index(folder, read_object(index), found)
        return {name: in_float32(tensor) for name, tensor in found.items()}
    raise DataError(f"{folder} has no weights: neither {WEIGHTS} nor an index of several such files.")


def pickle_refusal(where: object) -> QkvError:
    return OptionError(
        (
            "allow_pickle",
            f"is needed to read {where}: its weights are a pickle ({PICKLED}), a format that can contain harmful code. "
            "torch's restricted loader reads only weights from it; prefer a copy with model.safetensors",
        )
    )


def in_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def shards(folder: Path, index: Path) -> list[Path]:
    """The files that an index names, all of them directly in the folder."""
    names = read_object(index).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(each, str) for each in names.values()):
        raise DataError(f"{index} has no weight_map from weights to files.")
    paths = []
    for name in sorted(set(names.values())):
        if Path(name).name != name or "\\" in name or name in ("", ".", ".."):
            raise DataError(f"{index} names '{name}', which is not a file in this folder.")
        if not (folder / name).is_file():
            raise DataError(f"{index} names {name}, which is missing.")
        paths.append(folder / name)
    return paths


def check_index(folder: Path, index: Mapping[str, Any], found: Mapping[str, Tensor]) -> None:
    missing = sorted(set(index["weight_map"]) - set(found))
    if missing:
        raise DataError(
            f"{folder}: weights in the index are missing from the files: {', '.join(missing[:6])}."
        )


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Read weights. Truncated files and wrong hashes are errors; the header is checked first."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if size < 8 or header > size - 8:
        raise DataError(f"{path} is damaged: it is shorter than its own header says.")
    if header > LARGEST_HEADER:
        raise DataError(f"{path} has a header of {header:,} bytes, which is too large to read.")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            wanted = (file.metadata() or {}).get(HASH)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} is damaged ({error}). Download it again.") from None
    if wanted is not None and wanted != tensors_hash(tensors):
        raise DataError(f"{path} is damaged (its content does not match its hash). Download it again.")
    return tensors


def read_pickled(path: Path) -> dict[str, Tensor]:
    """Read a pickle with torch's restricted loader, which builds only tensors."""
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise DataError(f"{path} contains more than weights, so it was not read.") from None
    except Exception as error:  # a damaged file can raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DataError(f"{path} is damaged ({reason}). Download it again.") from None
    if not isinstance(tensors, dict) or not all(isinstance(each, Tensor) for each in tensors.values()):
        raise DataError(f"{path} does not map names to weights.")
    return tensors
