"""Weights and training states as torch tensors, in the same files as checkpoint/arrays.py."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from qkv.checkpoint.files import HASH, write_file
from qkv.checkpoint.header import read_header
from qkv.errors import DataError


def tensors_hash(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    write_file(path, tensor_bytes(tensors))


def tensor_bytes(tensors: Mapping[str, Tensor], **metadata: str) -> bytes:
    """Safetensors detects a truncated file but not a changed bit, so this adds a hash of the content."""
    complete = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return safetensors.torch.save(complete, metadata={HASH: tensors_hash(complete), **metadata})


def read_tensors(path: Path) -> dict[str, Tensor]:
    wanted = read_header(path).metadata.get(HASH)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise DataError(f"{path} is damaged ({error}). Restore it from a copy or train again.") from None
    if wanted != tensors_hash(tensors):
        raise DataError(
            f"{path} is damaged (its content does not match its hash). Restore it from a copy or train again."
        )
    return tensors
