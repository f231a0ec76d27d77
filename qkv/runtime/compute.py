"""In which numbers a model computes when it translates or continues a text."""

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


def silent(told: object = None) -> None:
    """Nobody is told."""


def computing_in(
    models: Sequence[TranslationModel], compute: Compute, warn: Callable[[str], None]
) -> tuple[list[TranslationModel], list[Engine]]:
    """The models, or copies with smaller numbers, and an engine for each where there is one for such numbers.

    The engine is for encoder-decoder Transformers, and bf16 is torch's. Where it cannot be built, torch does its
    arithmetic, and `warn` is told so.
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
    """The same for a language model."""
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
    """The engine, and int8, are for a CPU."""
    elsewhere = weight.device.type != "cpu"
    if elsewhere and compute == "int8":
        raise UserError("int8 is for a CPU: elsewhere use --compute bf16.")
    return elsewhere


def rounded_by_torch(model: TranslationModel) -> TranslationModel:
    """A copy whose layers round weights once, by column, and what comes in anew each time (dynamic quantisation)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces where this will live in later versions
        quantised: TranslationModel = torch.ao.quantization.quantize_dynamic(
            copy.deepcopy(model),
            {
                torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig,
                torch.nn.LSTM: torch.ao.quantization.default_dynamic_qconfig,
            },
        )
    return quantised
