"""Train, use and inspect Transformers: translators, language models, BERT, ViT and DALL-E.

    >>> translator = qkv.load("runs/en-de")
    >>> translation = translator.translate("one two three")

The names below are imported when they are first used: `import qkv` imports neither torch nor NumPy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qkv.api.loading import load
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
    from qkv.errors import (
        DataError,
        InputError,
        InputTypeError,
        MissingExtraError,
        ModelError,
        OptionError,
        QkvError,
    )
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.bert.options import EmbeddingOptions, FillOptions
    from qkv.families.bert.product import Bert, Guess
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.options import DrawingOptions
    from qkv.families.dalle.product import Drawing, ImageGenerator
    from qkv.families.gpt.classifier import GPTClassifier
    from qkv.families.gpt.options import GenerationOptions
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.tracing import trace
    from qkv.families.translator.options import TranslationOptions
    from qkv.families.translator.product import Translator
    from qkv.families.translator.translations import Translation
    from qkv.families.vit.options import ClassificationOptions
    from qkv.families.vit.product import ImageClassifier
    from qkv.runtime.model import Model
    from qkv.runtime.prediction_options import PredictionOptions
    from qkv.runtime.predictions import Prediction
    from qkv.runtime.running import Running
    from qkv.text.glossary import Glossary
    from qkv.tracing.trace import Trace
    from qkv.training.callbacks import Callback, EndEvent, SaveEvent, StartEvent, StepEvent, ValidationEvent

__all__ = [
    "Bert",
    "Callback",
    "ClassificationOptions",
    "Codebook",
    "DataError",
    "Drawing",
    "DrawingOptions",
    "EmbeddingOptions",
    "EndEvent",
    "FillOptions",
    "GPTClassifier",
    "GenerationOptions",
    "Glossary",
    "Guess",
    "ImageClassifier",
    "ImageGenerator",
    "InputError",
    "InputTypeError",
    "LanguageModel",
    "MissingExtraError",
    "Model",
    "ModelError",
    "OptionError",
    "Prediction",
    "PredictionOptions",
    "QkvError",
    "Running",
    "SaveEvent",
    "StartEvent",
    "StepEvent",
    "TextClassifier",
    "Trace",
    "TrainingReport",
    "Translation",
    "TranslationOptions",
    "Translator",
    "ValidationEvent",
    "__version__",
    "fine_tune",
    "load",
    "resume",
    "trace",
    "train_bert",
    "train_codebook",
    "train_dalle",
    "train_gpt",
    "train_translator",
    "train_vit",
]
__version__ = "0.2.0"

WHERE = {
    # open
    "load": "qkv.api.loading",
    # train
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
    **dict.fromkeys(
        ("Callback", "EndEvent", "SaveEvent", "StartEvent", "StepEvent", "ValidationEvent"),
        "qkv.training.callbacks",
    ),
    "TrainingReport": "qkv.checkpoint.training_report",
    # models
    "Model": "qkv.runtime.model",
    "Translator": "qkv.families.translator.product",
    "LanguageModel": "qkv.families.gpt.product",
    "Bert": "qkv.families.bert.product",
    "TextClassifier": "qkv.families.bert.classifier",
    "GPTClassifier": "qkv.families.gpt.classifier",
    "ImageClassifier": "qkv.families.vit.product",
    "ImageGenerator": "qkv.families.dalle.product",
    "Codebook": "qkv.families.dalle.codes",
    # options
    "Running": "qkv.runtime.running",
    "TranslationOptions": "qkv.families.translator.options",
    "GenerationOptions": "qkv.families.gpt.options",
    "FillOptions": "qkv.families.bert.options",
    "EmbeddingOptions": "qkv.families.bert.options",
    "PredictionOptions": "qkv.runtime.prediction_options",
    "ClassificationOptions": "qkv.families.vit.options",
    "DrawingOptions": "qkv.families.dalle.options",
    "Glossary": "qkv.text.glossary",
    # results
    "Translation": "qkv.families.translator.translations",
    "Guess": "qkv.families.bert.product",
    "Prediction": "qkv.runtime.predictions",
    "Drawing": "qkv.families.dalle.product",
    # inspect
    "trace": "qkv.families.tracing",
    "Trace": "qkv.tracing.trace",
    # errors
    "QkvError": "qkv.errors",
    "InputError": "qkv.errors",
    "InputTypeError": "qkv.errors",
    "DataError": "qkv.errors",
    "ModelError": "qkv.errors",
    "OptionError": "qkv.errors",
    "MissingExtraError": "qkv.errors",
}


def __getattr__(name: str) -> Any:
    """Import a public name. It is then an attribute of the module, so this runs once for each."""
    if name not in WHERE:
        raise AttributeError(f"module 'qkv' has no attribute '{name}'")
    found = getattr(importlib.import_module(WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
