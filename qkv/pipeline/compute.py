"""In which numbers models compute when they translate, and by what."""

import copy
from collections.abc import Callable, Sequence
from typing import Literal

import torch

from qkv.engine import Engine, NoCompiler
from qkv.engine.rounding import RoundedTranslator
from qkv.errors import UserError
from qkv.models.translator import TranslationModel, Translator

Compute = Literal["float32", "bf16", "int8"]


def computing_in(
    models: Sequence[TranslationModel], compute: Compute, warn: Callable[[str], None]
) -> tuple[list[TranslationModel], list[Engine]]:
    """The models, or copies with smaller numbers, and an engine for each where there is one for such numbers.

    bf16 is torch's, and so is a model in one stream, in float32. Where the engine cannot be built, torch does its
    arithmetic, and `warn` is told so.
    """
    if compute == "bf16":
        return [copy.deepcopy(model).to(torch.bfloat16) for model in models], []
    if any(model.tokens.weight.device.type != "cpu" for model in models):
        if compute == "int8":
            raise UserError("int8 is for a CPU: elsewhere use --compute bf16.")
        return list(models), []
    int8 = compute == "int8"
    known = [model for model in models if isinstance(model, Translator)]
    if len(known) < len(models):  # one stream, which the engine does not know
        return list(models), []
    try:
        threads = torch.get_num_threads()
        return list(models), [Engine(model, int8=int8, threads=threads) for model in known]
    except NoCompiler as error:
        warn(f"translating without the fast engine, with the same results but slower: {error}.")
    return [RoundedTranslator(model) if int8 else model for model in known], []
