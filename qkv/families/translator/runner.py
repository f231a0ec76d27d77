"""Open a translation model on the compiled engine, on NumPy or on torch."""

from typing import Any

from qkv.core.translation import TranslationConfig, TranslationRunner
from qkv.engine import Engine
from qkv.families.translator.config import TranslatorConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.runners import compiled_or_reference, torch_or_reference
from qkv.runtime.running import Running, Warn


def open_translator(
    network: Network[TranslationConfig, Any], running: Running, warn: Warn
) -> TranslationRunner:
    """What computes this model. The compiled engine knows encoder-decoder Transformers, NumPy the other ones too."""
    config = network.config
    runner: TranslationRunner

    def reference(int8: bool) -> TranslationRunner:
        from qkv.engine.reference.translators import open_reference  # rarely needed

        return open_reference(config, network.weights, int8=int8)

    if running.on_torch or not isinstance(config, TranslatorConfig):
        runner = torch_or_reference(network, running, reference)
    else:
        int8, threads = running.int8, running.thread_count
        runner = compiled_or_reference(
            lambda: Engine(config, network.weights, int8=int8, threads=threads),
            lambda: reference(int8),
            warn,
        )
    return runner


def build_translator(config: TranslationConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.translator.architectures import build
    from qkv.runtime.torch_models import with_weights

    return with_weights(build(config), weights)
