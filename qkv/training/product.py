"""What a run makes."""

from pathlib import Path
from typing import Protocol, TypeVar

from torch import nn


class Product(Protocol):
    """What a run makes: a model with everything that is needed to use it."""

    @property
    def model(self) -> nn.Module: ...  # with `loss(batch)`

    def to_bundle(self, folder: Path) -> None: ...  # write it


ProductType = TypeVar("ProductType", bound=Product)
