"""A BERT fine-tuned on labels: predicts the class of a text or a pair, or a number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.engine.reference.functions import softmax
from qkv.errors import ModelError
from qkv.families.bert.config import BertClassifierConfig
from qkv.families.bert.encoding import Vectors, encode_rows
from qkv.families.bert.product import check_longest, facts_of, pieces_of, rows_of
from qkv.families.bert.runner import ClassifierRunner, build_classifier, open_classifier
from qkv.runtime.inputs import Done
from qkv.runtime.network import Network, network_of
from qkv.runtime.predictions import Prediction, PredictionOptions, TextInputs
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


class TextClassifier(TextInputs):
    """A BERT fine-tuned on labels: it predicts the class of a text or a pair of texts, or a number.

    Example:
        >>> classifier = qkv.load("runs/sentiment")
        >>> classifier
        TextClassifier(bad, good; 60 tokens)
        >>> classifier.classify("one two three").label in ("bad", "good")
        True
    """

    _what = "a text classifier"

    tokenizer: WordPieceTokenizer
    """The vocabulary: `encode(text)` gives token ids, `decode(ids)` gives text."""

    def __init__(
        self,
        runner: ClassifierRunner,
        tokenizer: WordPieceTokenizer,
        defaults: TextClassifierDefaults,
        network: Network[BertClassifierConfig, Any] | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: the compiled engine, NumPy, or a torch model.
            tokenizer: Its vocabulary.
            defaults: Classes, and whatever else the model was saved with.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner, self.tokenizer, self._defaults = runner, tokenizer, defaults
        self._network = Network.of(runner) if network is None else network

    def _summary(self) -> str:
        return f"{', '.join(self.classes) or 'numbers'}; {len(self.tokenizer):,} tokens"

    @property
    def classes(self) -> tuple[str, ...]:
        return self._defaults.classes

    @property
    def reads(self) -> Literal["text", "pairs"]:
        return "pairs" if self._defaults.pairs else "text"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertClassifierConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(TextClassifierDefaults, config, f"{where}/config.json")
        if (1 if architecture.numbers else len(defaults.classes)) != architecture.outputs:
            raise ModelError(
                f"{where}/config.json: the number of classes does not match the model's outputs."
            )
        tokenizer = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        if defaults.pairs and architecture.encoder.segments < 2:
            raise ModelError(f"{where}/config.json: a model with one segment cannot read pairs of texts.")
        network = network_of(bundle, architecture, build_classifier)
        return cls(open_classifier(network, running, warn), tokenizer, defaults, network)

    def to_bundle(self, folder: Path) -> None:
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "bert-classifier", config, self._network.weights, files)

    def info(self) -> dict[str, str]:
        return {
            "kind": f"bert-classifier of {'pairs of texts' if self._defaults.pairs else 'texts'}",
            "parameters": f"{self._network.parameters:,}",
            **facts_of(self.config.encoder),
            "classes": ", ".join(self.classes) or "none: it predicts numbers",
            "longest input": f"{self._defaults.max_length:,} tokens",
        }

    def _running(self, running: Running, warn: Warn = silent) -> "TextClassifier":
        """The same model with its current weights on another engine, device or number format."""
        runner = open_classifier(self._network, running, warn)
        return TextClassifier(runner, self.tokenizer, self._defaults, self._network)

    def _reading_pairs(self, pairs: bool) -> "TextClassifier":
        """The same model, reading single texts or pairs."""
        if pairs and self.config.encoder.segments < 2:
            raise ModelError("this model has one segment: it reads single texts, not pairs.")
        return TextClassifier(
            self._runner, self.tokenizer, replace(self._defaults, pairs=pairs), self._network
        )

    def _classify(
        self, inputs: Sequence[tuple[str, ...]], done: Done, options: PredictionOptions
    ) -> list[Prediction]:
        logits = self._logits(inputs, done)
        if self.config.numbers:
            mean, deviation = self._defaults.mean, self._defaults.deviation
            return [Prediction.on_scale(mean + deviation * number) for number in logits[:, 0].tolist()]
        return [Prediction.of(self.classes, row) for row in softmax(logits).tolist()]

    def _logits(self, inputs: Sequence[tuple[str, ...]], done: Done) -> Vectors:
        """(inputs, outputs)"""
        flat = self.tokenizer.encode_all([text for texts in inputs for text in texts])
        size = 2 if self._defaults.pairs else 1
        rows = rows_of(
            self.tokenizer, [flat[i : i + size] for i in range(0, len(flat), size)], self._defaults.max_length
        )
        return self._runner.label_scores(encode_rows(self._runner.texts, rows, "first", done))
