"""Train, use and inspect Transformers: translators, language models, BERT, ViT and DALL-E.

    >>> translator = qkv.load("runs/en-de")
    >>> translation = translator.translate("one two three")

The names below are imported when they are first used: `import qkv` imports neither torch nor NumPy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.api.adapting import adapt
    from qkv.api.checking import CheckReport, check
    from qkv.api.cleaning import Cleaned, clean
    from qkv.api.conversion import ExportReport, export, import_model
    from qkv.api.distillation import distill
    from qkv.api.evaluation import evaluate
    from qkv.api.exploring import Exploration, explore
    from qkv.api.information import ModelInfo, info
    from qkv.api.learning import Learned, learn
    from qkv.api.loading import load
    from qkv.api.published import PublishedModel, PublishedModels, get, models
    from qkv.api.publishing import push
    from qkv.api.serving import Service, serve, serve_app
    from qkv.api.training import (
        fine_tune,
        resume,
        train,
        train_bert,
        train_codebook,
        train_dalle,
        train_gpt,
        train_translator,
        train_vit,
    )
    from qkv.checkpoint.training_report import TrainingReport
    from qkv.errors import (
        DataError,
        InputError,
        InputTypeError,
        MissingExtraError,
        ModelError,
        OptionError,
        QkvError,
    )
    from qkv.evaluation.report import Report
    from qkv.evaluation.scores import Score
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.bert.options import EmbeddingOptions, FillOptions
    from qkv.families.bert.product import Bert, Guess
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.evaluation import CodebookReport, DrawingReport
    from qkv.families.dalle.options import DrawingOptions
    from qkv.families.dalle.product import Drawing, ImageGenerator
    from qkv.families.gpt.classifier import GPTClassifier
    from qkv.families.gpt.evaluation import LanguageModelReport, MusicReport
    from qkv.families.gpt.options import GenerationOptions
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.label_evaluation import ClassificationReport
    from qkv.families.tracing import trace
    from qkv.families.translator.options import TranslationOptions
    from qkv.families.translator.product import Translator
    from qkv.families.translator.translation_report import TranslationComparison, TranslationReport
    from qkv.families.translator.translations import Translation
    from qkv.families.vit.evaluation import ImageClassificationReport
    from qkv.families.vit.product import ImageClassifier
    from qkv.localization.checks.unit import Finding
    from qkv.localization.entry import MemoryMatch
    from qkv.localization.memory import Memory
    from qkv.runtime.model import Model
    from qkv.runtime.prediction_options import ClassificationOptions, PredictionOptions
    from qkv.runtime.predictions import Prediction
    from qkv.runtime.running import Running
    from qkv.server.options import ServeOptions
    from qkv.text.glossary import Glossary
    from qkv.tracing.trace import Trace
    from qkv.training.callbacks import Callback, EndEvent, SaveEvent, StartEvent, StepEvent, ValidationEvent

__all__ = [
    "Bert",
    "Callback",
    "CheckReport",
    "ClassificationOptions",
    "ClassificationReport",
    "Cleaned",
    "Codebook",
    "CodebookReport",
    "DataError",
    "Drawing",
    "DrawingOptions",
    "DrawingReport",
    "EmbeddingOptions",
    "EndEvent",
    "Exploration",
    "ExportReport",
    "FillOptions",
    "Finding",
    "GPTClassifier",
    "GenerationOptions",
    "Glossary",
    "Guess",
    "ImageClassificationReport",
    "ImageClassifier",
    "ImageGenerator",
    "InputError",
    "InputTypeError",
    "LanguageModel",
    "LanguageModelReport",
    "Learned",
    "Memory",
    "MemoryMatch",
    "MissingExtraError",
    "Model",
    "ModelError",
    "ModelInfo",
    "MusicReport",
    "OptionError",
    "Prediction",
    "PredictionOptions",
    "PublishedModel",
    "PublishedModels",
    "QkvError",
    "Report",
    "Running",
    "SaveEvent",
    "Score",
    "ServeOptions",
    "Service",
    "StartEvent",
    "StepEvent",
    "TextClassifier",
    "Trace",
    "TrainingReport",
    "Translation",
    "TranslationComparison",
    "TranslationOptions",
    "TranslationReport",
    "Translator",
    "ValidationEvent",
    "__version__",
    "adapt",
    "check",
    "clean",
    "distill",
    "evaluate",
    "explore",
    "export",
    "fine_tune",
    "get",
    "import_model",
    "info",
    "learn",
    "load",
    "models",
    "push",
    "resume",
    "serve",
    "serve_app",
    "trace",
    "train",
    "train_bert",
    "train_codebook",
    "train_dalle",
    "train_gpt",
    "train_translator",
    "train_vit",
]  # fmt: skip
__version__ = "0.2.0"

WHERE = {
    "Bert": "qkv.families.bert.product",
    "Callback": "qkv.training.callbacks",
    "CheckReport": "qkv.api.checking",
    "ClassificationOptions": "qkv.runtime.prediction_options",
    "ClassificationReport": "qkv.families.label_evaluation",
    "Cleaned": "qkv.api.cleaning",
    "Codebook": "qkv.families.dalle.codes",
    "CodebookReport": "qkv.families.dalle.evaluation",
    "DataError": "qkv.errors",
    "Drawing": "qkv.families.dalle.product",
    "DrawingOptions": "qkv.families.dalle.options",
    "DrawingReport": "qkv.families.dalle.evaluation",
    "EmbeddingOptions": "qkv.families.bert.options",
    "EndEvent": "qkv.training.callbacks",
    "Exploration": "qkv.api.exploring",
    "ExportReport": "qkv.api.conversion",
    "FillOptions": "qkv.families.bert.options",
    "Finding": "qkv.localization.checks.unit",
    "GPTClassifier": "qkv.families.gpt.classifier",
    "GenerationOptions": "qkv.families.gpt.options",
    "Glossary": "qkv.text.glossary",
    "Guess": "qkv.families.bert.product",
    "ImageClassificationReport": "qkv.families.vit.evaluation",
    "ImageClassifier": "qkv.families.vit.product",
    "ImageGenerator": "qkv.families.dalle.product",
    "InputError": "qkv.errors",
    "InputTypeError": "qkv.errors",
    "LanguageModel": "qkv.families.gpt.product",
    "LanguageModelReport": "qkv.families.gpt.evaluation",
    "Learned": "qkv.api.learning",
    "Memory": "qkv.localization.memory",
    "MemoryMatch": "qkv.localization.entry",
    "MissingExtraError": "qkv.errors",
    "Model": "qkv.runtime.model",
    "ModelError": "qkv.errors",
    "ModelInfo": "qkv.api.information",
    "MusicReport": "qkv.families.gpt.evaluation",
    "OptionError": "qkv.errors",
    "Prediction": "qkv.runtime.predictions",
    "PredictionOptions": "qkv.runtime.prediction_options",
    "PublishedModel": "qkv.api.published",
    "PublishedModels": "qkv.api.published",
    "QkvError": "qkv.errors",
    "Report": "qkv.evaluation.report",
    "Running": "qkv.runtime.running",
    "SaveEvent": "qkv.training.callbacks",
    "Score": "qkv.evaluation.scores",
    "ServeOptions": "qkv.server.options",
    "Service": "qkv.api.serving",
    "StartEvent": "qkv.training.callbacks",
    "StepEvent": "qkv.training.callbacks",
    "TextClassifier": "qkv.families.bert.classifier",
    "Trace": "qkv.tracing.trace",
    "TrainingReport": "qkv.checkpoint.training_report",
    "Translation": "qkv.families.translator.translations",
    "TranslationComparison": "qkv.families.translator.translation_report",
    "TranslationOptions": "qkv.families.translator.options",
    "TranslationReport": "qkv.families.translator.translation_report",
    "Translator": "qkv.families.translator.product",
    "ValidationEvent": "qkv.training.callbacks",
    "adapt": "qkv.api.adapting",
    "check": "qkv.api.checking",
    "clean": "qkv.api.cleaning",
    "distill": "qkv.api.distillation",
    "evaluate": "qkv.api.evaluation",
    "explore": "qkv.api.exploring",
    "export": "qkv.api.conversion",
    "fine_tune": "qkv.api.training",
    "get": "qkv.api.published",
    "import_model": "qkv.api.conversion",
    "info": "qkv.api.information",
    "learn": "qkv.api.learning",
    "load": "qkv.api.loading",
    "push": "qkv.api.publishing",
    "models": "qkv.api.published",
    "resume": "qkv.api.training",
    "serve": "qkv.api.serving",
    "serve_app": "qkv.api.serving",
    "train": "qkv.api.training",
    "trace": "qkv.families.tracing",
    "train_bert": "qkv.api.training",
    "train_codebook": "qkv.api.training",
    "train_dalle": "qkv.api.training",
    "train_gpt": "qkv.api.training",
    "train_translator": "qkv.api.training",
    "train_vit": "qkv.api.training",
}


def __getattr__(name: str) -> Any:
    """Import a public name. It is then an attribute of the module, so this runs once for each."""
    if name not in WHERE:
        raise AttributeError(f"module 'qkv' has no attribute '{name}'")
    try:
        found = getattr(importlib.import_module(WHERE[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from qkv.environment import missing_torch

        raise missing_torch(f"qkv.{name}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
