"""trace(): every intermediate value of one output, for models of any kind."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from qkv.data.images import is_image
from qkv.environment import require_torch
from qkv.errors import InputTypeError, ModelError, type_name
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve
from qkv.families.loading import kind_of, load
from qkv.families.products import kind_of_product
from qkv.runtime.network import Network
from qkv.runtime.running import EXACT
from qkv.tracing.experiments import Experiment
from qkv.tracing.trace import Trace


class Tracer(Protocol):
    """Traces one kind of model."""

    def __call__(
        self,
        product: Any,
        text: Any,
        experiment: Experiment = ...,
        *,
        beam: int | None = None,
        longest: int | None = None,
    ) -> Trace: ...


def trace(model: Any, text: Any) -> Trace:
    """Record every intermediate value of one output, by name.

    Args:
        model: A translator, language model, BERT or ViT from `qkv.load`, or its folder. Values are always those of the
            model in float32.
        text: The input. For a ViT, an image as `classify` takes it: a path, a Pillow image or an array.

    Returns:
        The trace. A notebook shows it as a heat map of attention.

    Raises:
        ModelError: Models of this kind cannot be traced.
        MissingExtraError: torch is not installed.

    Example:
        >>> trace = qkv.trace("runs/en-de", "the cat danced")
        >>> trace["decoder.0.cross_attention.weights"].ndim  # heads, output tokens, source tokens
        3
    """
    require_torch("a trace")
    if isinstance(model, str | Path):
        tracer, product = tracer_of(kind_of(model)), load(model, EXACT)
    else:
        tracer, product = tracer_of(kind_of_product(model)), model
    if getattr(product, "reads", "") != "images":
        if not isinstance(text, str):
            raise InputTypeError(f"text is {type_name(text)}; expected str.")
    elif not is_image(text):
        raise InputTypeError(
            f"text is {type_name(text)}; expected an image: a path, a Pillow image or an array."
        )
    return tracer(product, text)


def tracer_of(kind: BundleKind) -> Tracer:
    if kind.trace is None:
        traced = ", ".join(each.name for each in bundle_kinds().values() if each.trace is not None)
        raise ModelError(f"a model of kind '{kind.name}' cannot be traced. Kinds that can: {traced}.")
    tracer: Tracer = resolve(kind.trace)
    return tracer


def with_weights(product: Any, weights: Mapping[str, Any], where: str) -> Any:
    """The same product with other weights, such as those of an earlier training step."""
    from qkv.runtime.torch_models import with_weights as load_weights

    found = copy.copy(product)
    found._network = Network.of(load_weights(copy.deepcopy(product.model), weights, where))
    found._runner = found._network.model
    return found
