"""A BERT fine-tuned on labels: predicts the class of a text or a pair, or a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.engine.reference.functions import softmax
from qkv.errors import QkvError
from qkv.families.bert.config import BertClassifierConfig
from qkv.families.bert.encoding import Vectors, encode_rows
from qkv.families.bert.product import check_longest, facts_of, pieces_of, rows_of
from qkv.families.bert.runner import ClassifierRunner, build_classifier, open_classifier
from qkv.runtime.network import Network, network_of
from qkv.runtime.predictions import Prediction, check_inputs
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.text.wordpiece import WordPieceTokenizer


@dataclass(frozen=True, kw_only=True)
class TextClassifierDefaults:
    """What a text classifier needs besides its weights."""

    OLD_NAMES: ClassVar = {"longest": "max_length"}

    max_length: int  # most tokens of an input, including [CLS] and [SEP]
    classes: tuple[str, ...]  # empty for a model that predicts numbers
    pairs: bool  # whether an input is two texts
    mean: float = 0.0  # of the training labels
    deviation: float = 1.0  # standard deviation of the training labels; the output is in these units


class TextClassifier:
    """A classifier of texts with its vocabulary.

    Args:
        runner: What computes the model: the compiled engine, NumPy, or a torch model.
        pieces: Its vocabulary.
        defaults: Classes, and whatever else the model was saved with.
        network: Config and weights of the model; not needed if the runner is a torch model.
    """

    def __init__(
        self,
        runner: ClassifierRunner,
        pieces: WordPieceTokenizer,
        defaults: TextClassifierDefaults,
        network: Network[BertClassifierConfig, Any] | None = None,
    ):
        self.runner, self.pieces, self.defaults = runner, pieces, defaults
        self.network = Network.of(runner) if network is None else network

    @property
    def config(self) -> BertClassifierConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training, tracing and exporting."""
        return self.network.model

    def __repr__(self) -> str:
        return f"TextClassifier({', '.join(self.classes) or 'numbers'}; {len(self.pieces):,} tokens)"

    @property
    def classes(self) -> tuple[str, ...]:
        return self.defaults.classes

    @property
    def reads(self) -> Literal["text", "pairs"]:
        return "pairs" if self.defaults.pairs else "text"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertClassifierConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(TextClassifierDefaults, config, f"{where}/config.json")
        if (1 if architecture.numbers else len(defaults.classes)) != architecture.outputs:
            raise QkvError(f"{where}/config.json: the number of classes does not match the model's outputs.")
        pieces = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        if defaults.pairs and architecture.encoder.segments < 2:
            raise QkvError(f"{where}/config.json: a model with one segment cannot read pairs of texts.")
        network = network_of(bundle, architecture, build_classifier)
        return cls(open_classifier(network, running, warn), pieces, defaults, network)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.config), **to_dict(self.defaults)}
        files = {TOKENIZER_FILE: self.pieces.text()}
        save_bundle(folder, "bert-classifier", config, self.network.weights, files)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        return {
            "kind": f"bert-classifier of {'pairs of texts' if self.defaults.pairs else 'texts'}",
            "parameters": f"{self.network.parameters:,}",
            **facts_of(self.config.encoder),
            "classes": ", ".join(self.classes) or "none: it predicts numbers",
            "longest input": f"{self.defaults.max_length:,} tokens",
        }

    def running(self, running: Running, warn: Warn = silent) -> "TextClassifier":
        """The same model with its current weights on another engine, device or number format."""
        runner = open_classifier(self.network, running, warn)
        return TextClassifier(runner, self.pieces, self.defaults, self.network)

    def reading_pairs(self, pairs: bool) -> "TextClassifier":
        """The same model, reading single texts or pairs."""
        if pairs and self.config.encoder.segments < 2:
            raise QkvError("this model has one segment: it reads single texts, not pairs.")
        return TextClassifier(self.runner, self.pieces, replace(self.defaults, pairs=pairs), self.network)

    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = lambda count: None
    ) -> list[Prediction]:
        logits = self.logits(inputs, done)
        if self.config.numbers:
            mean, deviation = self.defaults.mean, self.defaults.deviation
            return [Prediction.on_scale(mean + deviation * number) for number in logits[:, 0].tolist()]
        return [Prediction.of(self.classes, row) for row in softmax(logits).tolist()]

    def logits(self, inputs: Sequence[tuple[str, ...]], done: Callable[[int], None]) -> Vectors:
        """(inputs, outputs)"""
        check_inputs(inputs, self.reads)
        flat = self.pieces.encode_all([text for texts in inputs for text in texts])
        size = 2 if self.defaults.pairs else 1
        rows = rows_of(
            self.pieces, [flat[i : i + size] for i in range(0, len(flat), size)], self.defaults.max_length
        )
        return self.runner.label_scores(encode_rows(self.runner.texts, rows, "first", done))
