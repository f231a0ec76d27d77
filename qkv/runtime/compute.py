"""The number formats in which models run."""

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from qkv.core.pairs import TranslationModel
from qkv.engine import Engine, GPTEngine, NoEngineError
from qkv.engine.rounding import RoundedGPT, RoundedTranslator
from qkv.errors import UserError
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator

Compute = Literal["float32", "bf16", "int8"]
WITHOUT_ENGINE = "the fast engine, with the same results but slower"


def silent(message: object = None) -> None:
    """Ignore a message or a count."""


def computing_in(
    models: Sequence[TranslationModel], compute: Compute, warn: Callable[[str], None]
) -> tuple[list[TranslationModel], list[Engine]]:
    """The models, or copies in this number format, and an engine for each if there is one.

    The engine runs encoder-decoder Transformers; bf16 runs on torch. If the engine cannot be built, torch computes
    the same, and `warn` is called.
    """
    if compute == "bf16":
        return [copy.deepcopy(model).to(torch.bfloat16) for model in models], []
    int8 = compute == "int8"
    if any(is_elsewhere(model.tokens.weight, compute) for model in models):
        return list(models), []
    known = [model for model in models if isinstance(model, Translator)]
    if len(known) < len(models):
        return [rounded_by_torch(model) if int8 else model for model in models], []
    try:
        threads = torch.get_num_threads()
        return list(models), [Engine(model, int8=int8, threads=threads) for model in known]
    except NoEngineError as error:
        warn(f"translating without {WITHOUT_ENGINE}: {error}.")
    return [RoundedTranslator(model) if int8 else model for model in known], []


def continuing_in(model: GPT, compute: Compute, warn: Callable[[str], None]) -> tuple[GPT, GPTEngine | None]:
    """The same as `computing_in`, for a language model."""
    if compute == "bf16":
        return copy.deepcopy(model).to(torch.bfloat16), None
    if is_elsewhere(model.tokens.weight, compute):
        return model, None
    int8 = compute == "int8"
    try:
        return model, GPTEngine(model, int8=int8, threads=torch.get_num_threads())
    except NoEngineError as error:
        warn(f"generating without {WITHOUT_ENGINE}: {error}.")
    return (RoundedGPT(model) if int8 else model), None


def is_elsewhere(weight: Tensor, compute: Compute) -> bool:
    """Whether the model is not on a CPU, the only device of the engine and of int8."""
    elsewhere = weight.device.type != "cpu"
    if elsewhere and compute == "int8":
        raise UserError("int8 runs on a CPU only; on other devices use bf16.")
    return elsewhere


def rounded_by_torch(model: TranslationModel) -> TranslationModel:
    """A copy with dynamic quantization: weights are rounded once, by column, and inputs at every call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that this will move in later versions
        quantised: TranslationModel = torch.ao.quantization.quantize_dynamic(
            copy.deepcopy(model),
            {
                torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig,
                torch.nn.LSTM: torch.ao.quantization.default_dynamic_qconfig,
            },
        )
    return quantised
