"""A BERT fine-tuned on labels: predicts the class of a text or a pair, or a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.errors import UserError
from qkv.families.bert.config import BertClassifierConfig
from qkv.families.bert.encoding import Encoding
from qkv.families.bert.model import BertClassifier
from qkv.families.bert.product import check_longest, facts_of, pieces_of, rows_of
from qkv.runtime.compute import Compute, silent
from qkv.runtime.predictions import Prediction, check_inputs
from qkv.runtime.weights import build_model
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
    def __init__(
        self,
        model: BertClassifier,
        pieces: WordPieceTokenizer,
        defaults: TextClassifierDefaults,
        encoding: Encoding | None = None,
    ):
        self.model, self.pieces, self.defaults = model, pieces, defaults
        self.encoding = encoding  # created from the current weights at first use

    def __repr__(self) -> str:
        return f"TextClassifier({', '.join(self.classes) or 'numbers'}; {len(self.pieces):,} tokens)"

    @property
    def classes(self) -> tuple[str, ...]:
        return self.defaults.classes

    @property
    def reads(self) -> Literal["text", "pairs"]:
        return "pairs" if self.defaults.pairs else "text"

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(BertClassifierConfig, config.pop("model", None), f"{where}/config.json")
        defaults = from_dict(TextClassifierDefaults, config, f"{where}/config.json")
        if (1 if architecture.numbers else len(defaults.classes)) != architecture.outputs:
            raise UserError(f"{where}/config.json: the number of classes does not match the model's outputs.")
        pieces = pieces_of(where, architecture.encoder)
        check_longest(defaults.max_length, architecture.encoder, where)
        if defaults.pairs and architecture.encoder.segments < 2:
            raise UserError(f"{where}/config.json: a model with one segment cannot read pairs of texts.")
        model = build_model(BertClassifier, architecture, bundle)
        return cls(model, pieces, defaults)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        files = {TOKENIZER_FILE: self.pieces.text()}
        save_bundle(folder, "bert-classifier", config, self.model.state_dict(), files)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        return {
            "kind": f"bert-classifier of {'pairs of texts' if self.defaults.pairs else 'texts'}",
            **facts_of(self.model, self.model.config.encoder),
            "classes": ", ".join(self.classes) or "none: it predicts numbers",
            "longest input": f"{self.defaults.max_length:,} tokens",
        }

    def computing_in(self, compute: Compute, warn: Callable[[str], None] = silent) -> "TextClassifier":
        """The same model in another number format. `warn` is called if there is no engine."""
        encoding = Encoding(self.model.encoder, compute, warn)
        return TextClassifier(self.model, self.pieces, self.defaults, encoding)

    def reading_pairs(self, pairs: bool) -> "TextClassifier":
        """The same model, reading single texts or pairs."""
        if pairs and self.model.config.encoder.segments < 2:
            raise UserError("this model has one segment: it reads single texts, not pairs.")
        return TextClassifier(self.model, self.pieces, replace(self.defaults, pairs=pairs), self.encoding)

    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = lambda count: None
    ) -> list[Prediction]:
        logits = self.logits(inputs, done)
        if self.model.config.numbers:
            mean, deviation = self.defaults.mean, self.defaults.deviation
            return [Prediction.on_scale(mean + deviation * number) for number in logits[:, 0].tolist()]
        return [Prediction.of(self.classes, row) for row in logits.softmax(-1).tolist()]

    @torch.inference_mode()
    def logits(self, inputs: Sequence[tuple[str, ...]], done: Callable[[int], None]) -> Tensor:
        """(inputs, outputs)"""
        check_inputs(inputs, self.reads)
        flat = self.pieces.encode_all([text for texts in inputs for text in texts])
        size = 2 if self.defaults.pairs else 1
        rows = rows_of(
            self.pieces, [flat[i : i + size] for i in range(0, len(flat), size)], self.defaults.max_length
        )
        self.model.eval()
        if self.encoding is None:
            self.encoding = Encoding(self.model.encoder)
        states = self.encoding.pooled(rows, "first", done)
        device = next(self.model.parameters()).device
        return self.model.labels(self.model.pooler(states[:, None].to(device))).float().cpu()
