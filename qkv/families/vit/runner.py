"""Open an image classifier on NumPy or on torch."""

from typing import Any, Protocol

from qkv.engine.reference.vit import NumpyVit
from qkv.families.vit.config import VitConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.pixels import Floats
from qkv.runtime.runners import torch_or_reference
from qkv.runtime.running import Running


class VitRunner(Protocol):
    """What computes a classifier: NumPy or torch. Arrays are NumPy's."""

    @property
    def config(self) -> VitConfig: ...

    def logits(self, pictures: Floats) -> Floats: ...  # (B, C, height, width) -> (B, classes)


def open_vit(network: Network[VitConfig, Any], running: Running) -> VitRunner:
    def reference(int8: bool) -> NumpyVit:
        return NumpyVit(network.config, network.weights, int8=int8)

    runner: VitRunner = torch_or_reference(network, running, reference)
    return runner


def build_vit(config: VitConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.vit.model import Vit
    from qkv.runtime.torch_models import with_weights

    return with_weights(Vit(config), weights)
