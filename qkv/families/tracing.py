"""trace(): every intermediate value of one output, for models of any kind."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from qkv.errors import QkvError
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve
from qkv.families.loading import kind_of, load
from qkv.runtime.network import Network
from qkv.runtime.running import EXACT
from qkv.tracing.experiments import Experiment
from qkv.tracing.trace import Trace


class Tracer(Protocol):
    """Traces one kind of model."""

    def __call__(
        self,
        product: Any,
        text: str,
        experiment: Experiment = ...,
        *,
        beam: int | None = None,
        longest: int | None = None,
    ) -> Trace: ...


def trace(model: Any, text: str) -> Trace:
    """Every intermediate value of one output, by name: `qkv.trace("runs/en-de", "the cat danced")`."""
    if isinstance(model, str | Path):
        return tracer_of(kind_of(model))(load(model, EXACT), text)
    return tracer_of(kind_of_product(model))(model, text)


def kind_of_product(product: Any) -> BundleKind:
    classes = {f"{each.__module__}:{each.__qualname__}" for each in type(product).__mro__}
    for kind in bundle_kinds().values():
        if kind.product in classes:
            return kind
    raise QkvError(f"a {type(product).__name__} cannot be traced: give a model from `qkv.load`.")


def tracer_of(kind: BundleKind) -> Tracer:
    if kind.trace is None:
        traced = ", ".join(each.name for each in bundle_kinds().values() if each.trace is not None)
        raise QkvError(f"a model of kind '{kind.name}' cannot be traced. Kinds that can: {traced}.")
    tracer: Tracer = resolve(kind.trace)
    return tracer


def with_weights(product: Any, weights: Mapping[str, Any], where: str) -> Any:
    """The same product with other weights, such as those of an earlier training step."""
    from qkv.runtime.torch_models import with_weights as load_weights

    found = copy.copy(product)
    found._network = Network.of(load_weights(copy.deepcopy(product.model), weights, where))
    found._runner = found._network.model
    return found
