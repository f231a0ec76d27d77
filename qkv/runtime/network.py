"""A model apart from what computes it: its config, its weights, and its torch model if something needs that."""

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from qkv.checkpoint.bundle import Bundle
from qkv.checkpoint.header import check_shapes
from qkv.environment import require_torch

if TYPE_CHECKING:
    import numpy as np

Weights = Mapping[str, "np.ndarray"]
Config = TypeVar("Config")
Model = TypeVar("Model")


class Network(Generic[Config, Model]):
    """The config and weights of a model. `model` is the same in torch, for training, tracing and other devices."""

    def __init__(self, config: Config, weights: Weights, build: Callable[[Config, Weights], Model]):
        self.config = config
        self.stored: Weights | None = weights
        self.build = build
        self.built: Model | None = None

    @classmethod
    def of(cls, model: Any) -> "Network[Any, Any]":
        """The network of a torch model, which may still be in training."""
        network = cls(model.config, {}, lambda _config, _weights: model)
        network.stored, network.built = None, model
        return network

    @property
    def weights(self) -> Weights:
        """Weights by name, memory-mapped if they come from a bundle."""
        if self.stored is not None:
            return self.stored
        model: Any = self.built
        return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}

    @property
    def model(self) -> Model:
        """The torch model, built when it is first needed."""
        if self.built is None:
            require_torch("the reference model")
            self.built = self.build(self.config, self.weights)
        return self.built

    @property
    def parameters(self) -> int:
        """The number of weights that were trained."""
        config: Any = self.config
        return sum(prod(shape) for _, shape in config.shapes())


def network_of(
    bundle: Bundle, config: Config, build: Callable[[Config, Weights], Model]
) -> Network[Config, Model]:
    """The network in a bundle. A config that does not fit the weights is an error before anything is built."""
    shapes: Any = config
    check_shapes(shapes.shapes(), bundle.shapes, str(bundle.folder))
    return Network(config, bundle.weights, build)
