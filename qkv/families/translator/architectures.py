"""The architectures of translators. Other modules use only what these have in common (core/pairs.py)."""

from typing import Any

from qkv.configs import from_dict, shorten_value
from qkv.core.pairs import TranslationConfig, TranslationModel
from qkv.errors import UserError
from qkv.families.translator.model import OneStream, OneStreamConfig, Translator, TranslatorConfig
from qkv.families.translator.recurrent import Recurrent, RecurrentConfig

MODELS: dict[type[Any], type[Any]] = {
    TranslatorConfig: Translator,
    OneStreamConfig: OneStream,
    RecurrentConfig: Recurrent,
}


def built(config: TranslationConfig) -> TranslationModel:
    """A model of this configuration with initial weights."""
    model: TranslationModel = MODELS[type(config)](config)
    return model


def config_from(architecture: Any, values: Any, where: str) -> TranslationConfig:
    """The configuration that a file contains."""
    known = {model.architecture: config for config, model in MODELS.items()}
    if str(architecture) not in known:
        raise UserError(
            f"{where}: unknown architecture {shorten_value(architecture)}. This version of qkv has {', '.join(known)}."
        )
    config: TranslationConfig = from_dict(known[architecture], values, where)
    return config


def two_stacks(model: TranslationModel) -> Translator | Recurrent:
    """The model, if it has an encoder and a decoder, which the explorer needs."""
    if not isinstance(model, Translator | Recurrent):
        raise UserError(
            f"this is a {model.architecture} model, but only models with an encoder and a decoder can be explored. "
            "Word alignments show its attention."
        )
    return model
