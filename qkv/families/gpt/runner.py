"""Open a language model or a classifier on the compiled engine, on NumPy or on torch."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qkv.decoding.step import Step
from qkv.engine.rounding import Floats
from qkv.families.gpt.config import GPTConfig, TaskConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.runners import compiled_or_reference
from qkv.runtime.running import Running, Warn

if TYPE_CHECKING:
    from qkv.engine.gpt import GPTEngine
    from qkv.engine.reference.gpt import NumpyGPT


class GPTStep(Step, Protocol):
    @property
    def slid(self) -> bool: ...  # whether the beginning of the text was dropped


class GPTRunner(Protocol):
    """What computes a language model."""

    @property
    def config(self) -> GPTConfig: ...

    @property
    def device(self) -> Any: ...  # where torch computes; None for NumPy arrays

    def begin(self) -> GPTStep: ...

    def logits(
        self, ids: Any
    ) -> Floats: ...  # (B, T) -> (B, T, V) of the token after every position, in NumPy

    def states(self, ids: Any) -> Floats: ...  # (B, T) -> (B, T, D) before the output layer, in NumPy


class TaskRunner(Protocol):
    """What computes a language model that was fine-tuned for a task."""

    @property
    def config(self) -> TaskConfig: ...

    def task_scores(self, ids: Any, last: Any) -> Floats:
        """Scores of the classes, (B, C), of the choices, (B, W), or the number, (B, 1), in NumPy.

        The readings of all examples are ids (B · W, T); their last tokens are at `last` (B, W).
        """
        ...


class HeadOnStates:
    """The matrix of a task on the states of a language model."""

    def __init__(self, config: TaskConfig, runner: GPTRunner, network: Network[TaskConfig, Any]):
        self.config, self.runner, self.network = config, runner, network

    def task_scores(self, ids: Any, last: Any) -> Floats:
        readings = np.arange(last.size)
        states = self.runner.states(ids)[readings, last.reshape(-1)]  # (B · W, D)
        states = states.reshape(*last.shape, -1)  # (B, W, D)
        head = self.network.weights["head.weight"].astype(np.float32, copy=False)  # (C, D)
        found: Floats
        if self.config.task == "choice":
            found = (states @ head.T)[:, :, 0]
        else:
            found = states.sum(1) @ head.T
        return found


def open_generator(network: Network[GPTConfig, Any], running: Running, warn: Warn) -> GPTRunner:
    if running.on_torch:
        from qkv.runtime.torch_models import place_model

        model: GPTRunner = place_model(network.model, running)
        return model
    return open_gpt(network.config, network.weights, running, warn)


def open_classifier(network: Network[TaskConfig, Any], running: Running, warn: Warn) -> TaskRunner:
    if running.on_torch:
        from qkv.runtime.torch_models import place_model

        model: TaskRunner = place_model(network.model, running)
        return model
    runner = open_gpt(network.config.gpt, network.weights, running, warn, prefix="gpt.")
    return HeadOnStates(network.config, runner, network)


def open_gpt(
    config: GPTConfig, weights: Weights, running: Running, warn: Warn, *, prefix: str = ""
) -> "GPTEngine | NumpyGPT":
    """A language model. The names of its weights begin with `prefix`."""
    from qkv.engine.gpt import GPTEngine
    from qkv.engine.reference.gpt import NumpyGPT

    int8, threads = running.int8, running.thread_count
    return compiled_or_reference(
        lambda: GPTEngine(config, weights, int8=int8, threads=threads, prefix=prefix),
        lambda: NumpyGPT(config, weights, int8=int8, prefix=prefix),
        warn,
    )


def build_gpt(config: GPTConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.gpt.model import GPT
    from qkv.runtime.torch_models import with_weights

    return with_weights(GPT(config), weights)


def build_task_model(config: TaskConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.gpt.model import GPTForTask
    from qkv.runtime.torch_models import with_weights

    return with_weights(GPTForTask(config), weights)
