"""The torch model of each architecture of translators. Other modules use only what these have in common."""

from typing import Any

from qkv.core.pairs import TranslationModel
from qkv.core.translation import TranslationConfig
from qkv.families.translator.config import OneStreamConfig, RecurrentConfig, TranslatorConfig
from qkv.families.translator.model import OneStream, Translator
from qkv.families.translator.recurrent import Recurrent

MODELS: dict[type[Any], type[Any]] = {
    TranslatorConfig: Translator,
    OneStreamConfig: OneStream,
    RecurrentConfig: Recurrent,
}


def build(config: TranslationConfig) -> TranslationModel:
    """A model of this config with initial weights."""
    model: TranslationModel = MODELS[type(config)](config)
    return model
