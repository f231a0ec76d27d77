"""Train, use and inspect Transformers: translators, language models, BERT, ViT and DALL-E."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.errors import QkvError
    from qkv.families.loading import load
    from qkv.families.tracing import trace
    from qkv.families.translator.product import Translator
    from qkv.tracing.trace import Trace

__all__ = ["QkvError", "Trace", "Translator", "__version__", "load", "trace"]
__version__ = "0.2.0"

WHERE = {
    "Trace": "qkv.tracing.trace",
    "Translator": "qkv.families.translator.product",
    "QkvError": "qkv.errors",
    "load": "qkv.families.loading",
    "trace": "qkv.families.tracing",
}


def __getattr__(name: str) -> Any:
    """Lazy, so that `import qkv` and `qkv --help` do not import torch."""
    if name in WHERE:
        return getattr(importlib.import_module(WHERE[name]), name)
    raise AttributeError(f"module 'qkv' has no attribute '{name}'")
