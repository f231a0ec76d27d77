"""Open a DALL-E or a codebook on NumPy or on torch."""

from typing import Any, Protocol

from qkv.decoding.step import Step
from qkv.engine.reference.codebook import NumpyCodebook
from qkv.engine.reference.dalle import NumpyDalle
from qkv.engine.reference.functions import Ints
from qkv.families.dalle.config import CodebookConfig, DalleConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.pixels import Floats
from qkv.runtime.runners import torch_or_reference
from qkv.runtime.running import Running


class DalleRunner(Protocol):
    """What computes a DALL-E: NumPy or torch."""

    @property
    def config(self) -> DalleConfig: ...

    @property
    def device(self) -> Any: ...  # where torch computes; None for NumPy arrays

    def begin(self, captions: Any) -> Step: ...  # captions, (B, places), are an array on the device

    def logits(self, captions: Ints, codes: Ints) -> Floats: ...  # -> (B, grid², codes), in NumPy


class CodebookRunner(Protocol):
    """What computes a codebook: NumPy or torch. Arrays are NumPy's."""

    @property
    def config(self) -> CodebookConfig: ...

    def codes_of(self, pictures: Floats) -> Ints: ...  # (B, C, side, side) -> (B, grid²)

    def pictures_of(self, codes: Ints) -> Floats: ...  # (B, grid²) -> (B, C, side, side)


def open_dalle(network: Network[DalleConfig, Any], running: Running) -> DalleRunner:
    def reference(int8: bool) -> NumpyDalle:
        return NumpyDalle(network.config, network.weights, int8=int8)

    runner: DalleRunner = torch_or_reference(network, running, reference)
    return runner


def open_codebook(network: Network[CodebookConfig, Any], running: Running) -> CodebookRunner:
    def reference(int8: bool) -> NumpyCodebook:
        return NumpyCodebook(network.config, network.weights)  # convolutions have no int8

    runner: CodebookRunner = torch_or_reference(network, running, reference)
    return runner


def build_dalle(config: DalleConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.dalle.model import Dalle
    from qkv.runtime.torch_models import with_weights

    return with_weights(Dalle(config), weights)


def build_codebook(config: CodebookConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.dalle.codebook import CodebookModel
    from qkv.runtime.torch_models import with_weights

    return with_weights(CodebookModel(config), weights)
