"""Writing so that a file is either the old one or the new one, whole. Reading so that damage is seen."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from qkv.errors import UserError

HASH = "sha256"


def write_file(path: Path, content: bytes) -> None:
    """Beside the target, to the disk, then in one rename."""
    temporary = path.with_name(f".tmp-{path.name}")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A rename is on the disk only when its folder is."""
    if os.name != "posix":  # Windows cannot open a folder, and needs no such call
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Any) -> None:
    write_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None


def tensors_hash(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Safetensors finds a truncated file but not a changed bit, so a hash of the content goes with it."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_file(path, safetensors.torch.save(whole, metadata={HASH: tensors_hash(whole)}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            wanted = (file.metadata() or {}).get(HASH)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise UserError(f"{path} is missing.") from None
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); restore it from a copy or train again.") from None
    if wanted != tensors_hash(tensors):
        raise UserError(
            f"{path} is damaged (its content does not match its hash); restore it or train again."
        )
    return tensors
