"""A Transformer that people use: train a translator from two text files, look inside it, use it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.errors import UserError
    from qkv.pipeline import Trace, Translator, load, trace

__all__ = ["Trace", "Translator", "UserError", "__version__", "load", "trace"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Lazy: `import qkv` and `qkv --help` need no torch."""
    if name in ("Trace", "Translator", "load", "trace"):
        from qkv import pipeline

        return getattr(pipeline, name)
    if name == "UserError":
        from qkv.errors import UserError

        return UserError
    raise AttributeError(f"module 'qkv' has no attribute '{name}'")
