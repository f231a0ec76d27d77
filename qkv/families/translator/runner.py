"""Open a translation model on the compiled engine, on NumPy or on torch."""

from typing import Any

from qkv.core.translation import TranslationConfig, TranslationRunner
from qkv.engine import Engine, NoEngineError
from qkv.engine.reference.translators import open_reference
from qkv.families.translator.config import TranslatorConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.running import Running, Warn

WITHOUT_ENGINE = (
    "the compiled engine is unavailable, so NumPy computes the same results more slowly: {error}."
)


def open_translator(
    network: Network[TranslationConfig, Any], running: Running, warn: Warn
) -> TranslationRunner:
    """What computes this model. The compiled engine knows encoder-decoder Transformers, NumPy the other ones too."""
    if running.on_torch:
        from qkv.runtime.torch_models import placed

        return placed(network.model, running)
    config = network.config
    if isinstance(config, TranslatorConfig):
        try:
            return Engine(config, network.weights, int8=running.int8, threads=running.thread_count)
        except NoEngineError as error:
            warn(WITHOUT_ENGINE.format(error=error))
    return open_reference(config, network.weights, int8=running.int8)


def build_translator(config: TranslationConfig, weights: Weights) -> Any:
    from qkv.families.translator.architectures import build
    from qkv.runtime.torch_models import with_weights

    return with_weights(build(config), weights)
