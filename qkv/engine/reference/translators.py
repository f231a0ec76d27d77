"""The NumPy model of each architecture of translators."""

from collections.abc import Mapping
from typing import Any

from qkv.engine.reference.recurrent import NumpyRecurrent
from qkv.engine.reference.translation import NumpyTranslationModel
from qkv.engine.reference.translator import NumpyOneStream, NumpyTranslator
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig

MODELS: dict[type[Any], type[Any]] = {
    TranslatorConfig: NumpyTranslator,
    OneStreamConfig: NumpyOneStream,
    RecurrentConfig: NumpyRecurrent,
}


def open_reference(config: Any, weights: Mapping[str, Any], *, int8: bool) -> NumpyTranslationModel:
    """The model of this config, by the names of its torch model's weights."""
    model: NumpyTranslationModel = MODELS[type(config)](config, weights, int8=int8)
    return model
