"""Build a model from the config and weights of a bundle."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from qkv.checkpoint.bundle import Bundle
from qkv.checkpoint.header import Shape, check_shapes

Model = TypeVar("Model", bound=torch.nn.Module)


class HasShapes(Protocol):
    """A model's config."""

    def shapes(self) -> Iterable[tuple[str, Shape]]: ...  # of the weights, by name


Config = TypeVar("Config", bound=HasShapes)


def build_model(build: Callable[[Config], Model], config: Config, bundle: Bundle) -> Model:
    """The model of a bundle. A config that does not fit the weights is an error before anything is built."""
    check_shapes(config.shapes(), bundle.shapes, str(bundle.folder))
    model = build(config)
    load_weights(model, bundle.weights, str(bundle.folder))
    return model


def load_weights(model: torch.nn.Module, weights: Any, where: str) -> None:
    """Load weights, or report every fault at once: what is missing, unknown, or has another shape."""
    own = ((name, tuple(tensor.shape)) for name, tensor in model.state_dict().items())
    check_shapes(own, {name: tuple(tensor.shape) for name, tensor in weights.items()}, where)
    model.load_state_dict({name: as_tensor(weight) for name, weight in weights.items()})


def as_tensor(weight: Any) -> torch.Tensor:
    return torch.from_numpy(weight) if isinstance(weight, np.ndarray) else weight
