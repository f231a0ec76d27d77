"""Train, use and inspect Transformers: translators, language models, BERT, ViT and DALL-E."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.api.cleaning import Cleaned, clean
    from qkv.api.conversion import ExportReport, export, import_model
    from qkv.api.evaluation import evaluate
    from qkv.api.exploring import Exploration, explore
    from qkv.api.information import ModelInfo, info
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
    from qkv.evaluation.report import Report
    from qkv.evaluation.scores import Score
    from qkv.families.dalle.evaluation import CodebookReport, DrawingReport
    from qkv.families.gpt.evaluation import LanguageModelReport, MusicReport
    from qkv.families.label_evaluation import ClassificationReport
    from qkv.families.loading import load
    from qkv.families.tracing import trace
    from qkv.families.translator.product import Translator
    from qkv.families.translator.translation_report import TranslationComparison, TranslationReport
    from qkv.families.vit.evaluation import ImageClassificationReport
    from qkv.tracing.trace import Trace
    from qkv.training.callbacks import Callback

__all__ = [
    "Callback",
    "ClassificationReport",
    "Cleaned",
    "CodebookReport",
    "DrawingReport",
    "Exploration",
    "ExportReport",
    "ImageClassificationReport",
    "LanguageModelReport",
    "ModelInfo",
    "MusicReport",
    "QkvError",
    "Report",
    "Score",
    "Trace",
    "TrainingReport",
    "TranslationComparison",
    "TranslationReport",
    "Translator",
    "__version__",
    "clean",
    "evaluate",
    "explore",
    "export",
    "fine_tune",
    "import_model",
    "info",
    "load",
    "resume",
    "trace",
    "train_bert",
    "train_codebook",
    "train_dalle",
    "train_gpt",
    "train_translator",
    "train_vit",
]  # fmt: skip
__version__ = "0.2.0"

WHERE = {
    "ClassificationReport": "qkv.families.label_evaluation",
    "Cleaned": "qkv.api.cleaning",
    "CodebookReport": "qkv.families.dalle.evaluation",
    "DrawingReport": "qkv.families.dalle.evaluation",
    "Exploration": "qkv.api.exploring",
    "ExportReport": "qkv.api.conversion",
    "ImageClassificationReport": "qkv.families.vit.evaluation",
    "LanguageModelReport": "qkv.families.gpt.evaluation",
    "ModelInfo": "qkv.api.information",
    "MusicReport": "qkv.families.gpt.evaluation",
    "Report": "qkv.evaluation.report",
    "Score": "qkv.evaluation.scores",
    "TranslationComparison": "qkv.families.translator.translation_report",
    "TranslationReport": "qkv.families.translator.translation_report",
    "clean": "qkv.api.cleaning",
    "evaluate": "qkv.api.evaluation",
    "explore": "qkv.api.exploring",
    "export": "qkv.api.conversion",
    "import_model": "qkv.api.conversion",
    "info": "qkv.api.information",
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
