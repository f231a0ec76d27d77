"""Torch models: load arrays of weights into them, and run them on a device in a number format."""

import copy
import logging
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import torch

from qkv.checkpoint.header import check_shapes
from qkv.errors import OptionError
from qkv.runtime.running import Running

Model = TypeVar("Model", bound=torch.nn.Module)
log = logging.getLogger(__name__)


def with_weights(model: Model, weights: Mapping[str, Any], where: str = "the model") -> Model:
    """The model with these weights, arrays or tensors. One error reports all that is missing, unknown or misshapen."""
    own = ((name, tuple(tensor.shape)) for name, tensor in model.state_dict().items())
    check_shapes(own, {name: tuple(each.shape) for name, each in weights.items()}, where)
    model.load_state_dict({name: torch.as_tensor(each) for name, each in weights.items()})
    return model


def place_model(model: Model, running: Running) -> Model:
    """The model on a device and in a number format; a copy if it is changed."""
    if not is_available(running.device):
        raise OptionError(
            ("device", f"'{running.device}' is not available to torch on this machine. Use the CPU")
        )
    log.debug("torch computes on %s", running.device)
    if running.threads is not None:
        torch.set_num_threads(running.threads)
    if running.device == "cpu" and running.compute_type != "bf16":
        return model
    kind = torch.bfloat16 if running.compute_type == "bf16" else torch.float32
    return copy.deepcopy(model).to(device=running.device, dtype=kind)


def best_device() -> Literal["cuda", "mps", "cpu"]:
    if is_available("cuda"):
        return "cuda"
    return "mps" if is_available("mps") else "cpu"


def is_available(device: str) -> bool:
    if device == "cuda":
        return torch.cuda.is_available()
    return device == "cpu" or torch.backends.mps.is_available()
