"""The number formats in which models run."""

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor

from qkv.core.pairs import TranslationModel
from qkv.core.translation import CrossHeads
from qkv.engine import Engine, EngineStep, GPTEngine, NoEngineError
from qkv.engine.gpt import GPTEngineStep
from qkv.errors import UserError
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator
from qkv.runtime.rounded import RoundedGPT, RoundedTranslator

Compute = Literal["float32", "bf16", "int8"]
WITHOUT_ENGINE = "the fast engine, with the same results but slower"


def silent(message: object = None) -> None:
    """Ignore a message or a count."""


# Engines for code that still works on tensors -------------------------------------------------------------------


def arrays_of(model: torch.nn.Module) -> dict[str, NDArray[Any]]:
    """The weights of a model on a CPU, without copies."""
    return {name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()}


class TensorStep:
    """A step of an engine that takes and returns tensors."""

    def __init__(self, step: EngineStep | GPTEngineStep):
        self.step = step

    def __call__(self, ids: Tensor) -> Tensor:
        return torch.from_numpy(self.step(ids.numpy()))

    def select(self, rows: Tensor) -> None:
        self.step.select(rows.numpy())

    @property
    def attention(self) -> Tensor:
        assert isinstance(self.step, EngineStep)
        return torch.from_numpy(self.step.attention)

    @property
    def slid(self) -> bool:
        assert isinstance(self.step, GPTEngineStep)
        return self.step.slid


class TensorEngine(Engine):
    """The engine of a torch translator, whose sources are a padded tensor."""

    def __init__(self, model: Translator, *, int8: bool, threads: int):
        super().__init__(model.config, arrays_of(model), int8=int8, threads=threads)

    def begin(self, sources: Any, look: CrossHeads | None = None) -> Any:
        rows = [row[: int((row != self.config.pad).sum())].tolist() for row in sources]
        return TensorStep(super().begin(rows, look))


class TensorGPTEngine(GPTEngine):
    """The engine of a torch language model."""

    def __init__(self, model: GPT, *, int8: bool, threads: int):
        super().__init__(model.config, arrays_of(model), int8=int8, threads=threads)

    def begin(self) -> Any:
        return TensorStep(super().begin())


# Number formats ---------------------------------------------------------------------------------------------------


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
        return list(models), [TensorEngine(model, int8=int8, threads=threads) for model in known]
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
        return model, TensorGPTEngine(model, int8=int8, threads=torch.get_num_threads())
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
