"""In which numbers a model computes when it is used."""

import copy
import warnings
from typing import Literal, TypeVar

import torch

from qkv.errors import UserError

Compute = Literal["float32", "bf16", "int8"]
Model = TypeVar("Model", bound=torch.nn.Module)


def computing_in(model: Model, compute: Compute) -> Model:
    """The model itself, or a copy with smaller numbers: bf16 throughout, or int8 in the layers of weights.

    int8 rounds weights once, by column, and what comes in anew each time (torch's dynamic quantisation).
    """
    if compute == "float32":
        return model
    if compute == "bf16":
        return copy.deepcopy(model).to(torch.bfloat16)
    if next(model.parameters()).device.type != "cpu":
        raise UserError("int8 is for a CPU: elsewhere use --compute bf16.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces where this will live in later versions
        quantised: Model = torch.ao.quantization.quantize_dynamic(
            copy.deepcopy(model), {torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
        )
    return quantised
