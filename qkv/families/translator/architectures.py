"""What a translator can be made of. Everybody else knows what all of these have in common (core/pairs.py)."""

from typing import Any

from qkv.configs import from_dict, shown
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
    """The model that a configuration describes, with its first weights."""
    model: TranslationModel = MODELS[type(config)](config)
    return model


def config_from(architecture: Any, values: Any, where: str) -> TranslationConfig:
    """As a file has it."""
    known = {model.architecture: config for config, model in MODELS.items()}
    if str(architecture) not in known:
        raise UserError(
            f"{where}: this version of qkv knows {', '.join(known)}, and no {shown(architecture)}."
        )
    config: TranslationConfig = from_dict(known[architecture], values, where)
    return config


def two_stacks(model: TranslationModel) -> Translator | Recurrent:
    """A model whose encoder leaves a memory and whose decoder looks at it: what the stations show."""
    if not isinstance(model, Translator | Recurrent):
        raise UserError(
            f"this is a {model.architecture} model, and only one with an encoder and a decoder can be walked through; "
            "`qkv translate --alignments` shows where it looks."
        )
    return model
