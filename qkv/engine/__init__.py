"""Fast inference on a CPU: packed weights and compiled loops, with the same outputs as the torch models."""

from typing import TYPE_CHECKING, Any

from qkv.engine.engine import Engine, PlainRequest, PlainSearch
from qkv.engine.library import NoEngineError

if TYPE_CHECKING:
    from qkv.engine.gpt import GPTEngine

__all__ = ["Engine", "GPTEngine", "NoEngineError", "PlainRequest", "PlainSearch"]


def __getattr__(name: str) -> Any:
    """Translators need neither language models nor NumPy, which they import."""
    if name != "GPTEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from qkv.engine.gpt import GPTEngine

    return GPTEngine
