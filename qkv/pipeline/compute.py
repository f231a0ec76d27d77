"""In which numbers a model computes when it translates."""

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import torch

from qkv.core.pairs import TranslationModel
from qkv.engine import Engine, NoEngineError
from qkv.engine.rounding import RoundedTranslator
from qkv.errors import UserError
from qkv.models.translator import Translator

Compute = Literal["float32", "bf16", "int8"]


def computing_in(
    models: Sequence[TranslationModel], compute: Compute, warn: Callable[[str], None]
) -> tuple[list[TranslationModel], list[Engine]]:
    """The models, or copies with smaller numbers, and an engine for each where there is one for such numbers.

    The engine is for encoder-decoder Transformers without a bias in the output, and bf16 is torch's. Where it cannot be built, torch does its
    arithmetic, and `warn` is told so.
    """
    if compute == "bf16":
        return [copy.deepcopy(model).to(torch.bfloat16) for model in models], []
    int8 = compute == "int8"
    if any(model.tokens.weight.device.type != "cpu" for model in models):
        if int8:
            raise UserError("int8 is for a CPU: elsewhere use --compute bf16.")
        return list(models), []
    known = [model for model in models if isinstance(model, Translator) and model.bias is None]
    if len(known) < len(models):
        return [rounded_by_torch(model) if int8 else model for model in models], []
    try:
        threads = torch.get_num_threads()
        return list(models), [Engine(model, int8=int8, threads=threads) for model in known]
    except NoEngineError as error:
        warn(f"translating without the fast engine, with the same results but slower: {error}.")
    return [RoundedTranslator(model) if int8 else model for model in known], []


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
