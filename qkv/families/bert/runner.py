"""Open a BERT or a text classifier on the compiled engine, on NumPy or on torch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qkv.engine.reference.functions import ACTIVATIONS
from qkv.engine.reference.layers import Weights as Layers
from qkv.engine.rounding import Floats
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig
from qkv.runtime.network import Network, Weights
from qkv.runtime.runners import compiled_or_reference
from qkv.runtime.running import Running, Warn

if TYPE_CHECKING:
    from qkv.engine.reference.encoder import NumpyEncoder
    from qkv.engine.texts import TextEngine


class TextEncoder(Protocol):
    """What computes an encoder. Arrays are NumPy's."""

    @property
    def config(self) -> EncoderConfig: ...

    def __call__(
        self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int], pooling: Any = "each"
    ) -> Floats:
        """States of concatenated texts: of each position, (N, D), or with a pooling of each text, (texts, D)."""
        ...


class BertRunner(Protocol):
    """What computes a BERT."""

    @property
    def config(self) -> BertConfig: ...

    @property
    def texts(self) -> TextEncoder: ...

    def word_scores(self, states: Floats) -> Floats: ...  # (N, D) -> (N, V)

    def next_scores(self, firsts: Floats) -> Floats: ...  # (B, D) of the first positions -> (B, 2)


class ClassifierRunner(Protocol):
    """What computes a text classifier."""

    @property
    def config(self) -> BertClassifierConfig: ...

    @property
    def texts(self) -> TextEncoder: ...

    def label_scores(self, firsts: Floats) -> Floats: ...  # (B, D) of the first positions -> (B, outputs)


class BertHeads:
    """The heads of a BERT in float32 on the states of an encoder, each built when it is used."""

    def __init__(self, config: BertConfig, texts: TextEncoder, weights: Weights):
        self.config, self.texts = config, texts
        self.weights = Layers(weights, int8=False)

    def word_scores(self, states: Floats) -> Floats:
        stack, weights = self.config.encoder.stack, self.weights
        x = ACTIVATIONS[stack.activation](weights.linear("words.transform")(states))
        x = weights.norm("words.norm", stack.norm_eps)(x)
        return weights.layer(weights["encoder.tokens.weight"], weights["words.bias"])(x)

    def next_scores(self, firsts: Floats) -> Floats:
        return self.weights.linear("next_sentence")(pooled(self.weights, firsts))


class ClassifierHead:
    """The head of a text classifier in float32 on the states of an encoder."""

    def __init__(self, config: BertClassifierConfig, texts: TextEncoder, weights: Weights):
        self.config, self.texts = config, texts
        self.weights = Layers(weights, int8=False)

    def label_scores(self, firsts: Floats) -> Floats:
        return self.weights.linear("labels")(pooled(self.weights, firsts))


def pooled(weights: Layers, firsts: Floats) -> Floats:
    return np.tanh(weights.linear("pooler.linear")(firsts))


def open_bert(network: Network[BertConfig, Any], running: Running, warn: Warn) -> BertRunner:
    if running.on_torch:
        from qkv.runtime.torch_models import place_model

        model: BertRunner = place_model(network.model, running)
        return model
    weights = network.weights
    return BertHeads(network.config, open_encoder(network.config.encoder, weights, running, warn), weights)


def open_classifier(
    network: Network[BertClassifierConfig, Any], running: Running, warn: Warn
) -> ClassifierRunner:
    if running.on_torch:
        from qkv.runtime.torch_models import place_model

        model: ClassifierRunner = place_model(network.model, running)
        return model
    weights = network.weights
    texts = open_encoder(network.config.encoder, weights, running, warn)
    return ClassifierHead(network.config, texts, weights)


def open_encoder(
    config: EncoderConfig, weights: Weights, running: Running, warn: Warn, *, prefix: str = "encoder."
) -> "TextEngine | NumpyEncoder":
    """An encoder of texts. The names of its weights begin with `prefix`."""
    from qkv.engine.reference.encoder import NumpyEncoder
    from qkv.engine.texts import TextEngine

    int8, threads = running.int8, running.thread_count
    return compiled_or_reference(
        lambda: TextEngine(config, weights, int8=int8, threads=threads, prefix=prefix),
        lambda: NumpyEncoder(config, weights, int8=int8, prefix=prefix),
        warn,
    )


def build_bert(config: BertConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.bert.model import Bert
    from qkv.runtime.torch_models import with_weights

    return with_weights(Bert(config), weights)


def build_classifier(config: BertClassifierConfig, weights: Weights) -> Any:
    """The torch model."""
    from qkv.families.bert.model import BertClassifier
    from qkv.runtime.torch_models import with_weights

    return with_weights(BertClassifier(config), weights)
