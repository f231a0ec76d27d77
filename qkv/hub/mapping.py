"""The interface of mappings between published models and ours."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from qkv.errors import ModelError, as_flags, with_names
from qkv.hub.folder import Published

NOTES = "qkv.json"  # in folders that qkv writes: what the format cannot store, and a fingerprint


class NotExportableError(ModelError):
    """A model that the other library has no class for. Options are written as {positions}="interleaved"."""

    def __init__(self, template: str):
        self.template = template
        super().__init__(with_names(template, str))

    def with_flags(self) -> str:
        return with_names(re.sub(r'(\{[a-z_]+\})="([^"]*)"', r"\1 \2", self.template), as_flags)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A model in Hugging Face's layout."""

    config: dict[str, Any]  # with "architectures": the class that loads it
    weights: dict[str, Tensor]
    files: Mapping[str, bytes] = field(default_factory=dict)
    generation: dict[str, Any] | None = None


class HubMapping(Protocol):
    """Between a published format and ours. A product is what a bundle opens as, such as a Translator."""

    def read(self, published: Published, language: str | None) -> Any:
        """The product; `language` is the default target language, if there are several."""
        ...

    def write(self, product: Any) -> Written:
        """The product in this format; an error names what the format does not support."""
        ...

    def their_class(self, product: Any) -> str:
        """The name of the equivalent class in transformers."""
        ...

    def probe(self, product: Any) -> dict[str, Tensor]:
        """Fixed inputs for the comparison, under transformers' names."""
        ...

    def compute(self, product: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Our outputs for them, under transformers' names."""
        ...

    def encode(self, product: Any, line: str) -> list[int] | None:
        """The ids of a text, without special tokens; None if there is no tokenizer of theirs to compare with."""
        ...
