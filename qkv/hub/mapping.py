"""What a map between a published kind of model and ours is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from qkv.hub.folder import Published

NOTES = "qkv.json"  # in a folder that we write: what is known of the model beside its weights, and its fingerprint


@dataclass(frozen=True, kw_only=True)
class Written:
    """A model of ours in the layout of Hugging Face."""

    config: dict[str, Any]  # with "architectures": the class that loads it
    weights: dict[str, Tensor]
    files: Mapping[str, bytes] = field(default_factory=dict)
    generation: dict[str, Any] | None = None


class HubMapping(Protocol):
    """Between a published format and ours. A product is what a bundle opens as, such as a Translator."""

    def read(self, published: Published, language: str | None) -> Any:
        """The product; `language` is the target language that is wanted by default, where there are several."""
        ...

    def write(self, product: Any) -> Written:
        """A product that this format cannot hold is refused, by the name of what it lacks."""
        ...

    def their_class(self, product: Any) -> str:
        """The name of the class of transformers that computes the same."""
        ...

    def probe(self, product: Any) -> dict[str, Tensor]:
        """Inputs on which both are compared, the same every time, under transformers' names."""
        ...

    def computed(self, product: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What we make of them, under transformers' names."""
        ...

    def encode(self, product: Any, line: str) -> list[int] | None:
        """The ids of a text, without marks around it; None where there is no tokenizer of theirs to compare with."""
        ...
