"""What computes a model without torch: the compiled engine, or NumPy if that is unavailable."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from qkv.engine.library import NoEngineError
from qkv.runtime.network import Network
from qkv.runtime.running import Running, Warn

WITHOUT_ENGINE = (
    "the compiled engine is unavailable, so NumPy computes the same results more slowly: {error}."
)
Compiled = TypeVar("Compiled")
Reference = TypeVar("Reference")
log = logging.getLogger(__name__)


def compiled_or_reference(
    compiled: Callable[[], Compiled], reference: Callable[[], Reference], warn: Warn
) -> Compiled | Reference:
    """The compiled engine, or the NumPy model and one warning."""
    try:
        runner = compiled()
    except NoEngineError as error:
        warn(WITHOUT_ENGINE.format(error=error))
        return reference()
    log.debug("using the compiled engine")
    return runner


def torch_or_reference(
    network: Network[Any, Any], running: Running, reference: Callable[[bool], Reference]
) -> Any:
    """For models that the compiled engine does not know: the torch model if it is asked for, otherwise NumPy.

    `reference` gets whether to compute in int8. Without compiled loops int8 saves no time, so it must be asked for.
    """
    if running.on_torch:
        from qkv.runtime.torch_models import place_model

        return place_model(network.model, running)
    log.debug("NumPy computes")
    return reference(running.compute_type == "int8")
