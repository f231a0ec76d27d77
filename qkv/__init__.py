"""Train, use and inspect Transformers: translators, language models, BERT, ViT and DALL-E."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.api.training import (
        fine_tune,
        resume,
        train_bert,
        train_codebook,
        train_dalle,
        train_gpt,
        train_translator,
        train_vit,
    )
    from qkv.checkpoint.training_report import TrainingReport
    from qkv.errors import QkvError
    from qkv.families.loading import load
    from qkv.families.tracing import trace
    from qkv.families.translator.product import Translator
    from qkv.tracing.trace import Trace
    from qkv.training.callbacks import Callback

__all__ = [
    "Callback", "QkvError", "Trace", "TrainingReport", "Translator", "__version__", "fine_tune", "load", "resume", "trace", "train_bert",
    "train_codebook", "train_dalle", "train_gpt", "train_translator", "train_vit",
]  # fmt: skip
__version__ = "0.2.0"

WHERE = {
    "Callback": "qkv.training.callbacks",
    "TrainingReport": "qkv.checkpoint.training_report",
    **dict.fromkeys(
        (
            "fine_tune",
            "resume",
            "train_bert",
            "train_codebook",
            "train_dalle",
            "train_gpt",
            "train_translator",
            "train_vit",
        ),
        "qkv.api.training",
    ),
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
