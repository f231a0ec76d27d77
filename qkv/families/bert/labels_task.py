"""Fine-tunes a BERT on labeled texts or pairs of texts, with classes or numbers."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeGuard

import torch
from torch import Tensor

from qkv.checkpoint.bundle import MODEL_FILE, TOKENIZER_FILE, description_hashes, save_report
from qkv.checkpoint.files import file_hash
from qkv.data.batching import Batches, pad_rows, token_batches
from qkv.data.holding_out import hold_out_examples
from qkv.data.labels import Labelled
from qkv.data.origins import origin_of
from qkv.errors import QkvError, name_inputs
from qkv.evaluation.classification import class_results, number_results
from qkv.families.bert.classifier import TextClassifier, TextClassifierDefaults
from qkv.families.bert.config import BertClassifierConfig
from qkv.families.bert.encoding import Row
from qkv.families.bert.model import BertClassifier, LabelBatch
from qkv.families.bert.product import Bert, rows_of
from qkv.families.bert.settings import BertFineTuneSettings
from qkv.families.loading import load_for
from qkv.runtime.running import EXACT
from qkv.text.wordpiece import WordPieceTokenizer
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Task, with_epochs
from qkv.training.trainable import Setup

PURPOSE = Purpose(
    task="text-classification",
    command='qkv classify . "…"',
    python='model.classify("…")',
    use="The model predicts what it was trained to predict, also for texts that fit none of its labels.",
)

HEAD = "labels."  # prefix of its weights


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Training and validation examples, and their classes."""

    train: Labelled
    valid: Labelled
    classes: tuple[str, ...]  # empty for numbers

    @classmethod
    def of(cls, train: Labelled, valid: Labelled | None, settings: BertFineTuneSettings) -> "Examples":
        numbers = settings.task == "numbers" or (settings.task == "automatic" and train.are_numbers())
        if numbers:
            train.check_spread()
        classes = () if numbers else train.classes()
        if valid is None:
            train, valid = hold_out_examples(train, settings.valid_size, settings.seed)
        if (valid.seconds is None) != (train.seconds is None):
            raise QkvError(f"{valid.where} and {train.where} must have the same number of texts per line.")
        targets_of(valid, classes)
        return cls(train=train, valid=valid, classes=classes)

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of the numbers to learn."""
        if self.classes:
            return 0.0, 1.0
        numbers = self.train.numbers()
        mean = sum(numbers) / len(numbers)
        return mean, math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers)) or 1.0


def targets_of(examples: Labelled, classes: tuple[str, ...]) -> list[float]:
    return [float(place) for place in examples.places(classes)] if classes else examples.numbers()


@dataclass(frozen=True)
class LabelledData:
    """Examples to train on, and optionally to validate on."""

    train: Labelled
    valid: Labelled | None

    @property
    def amount(self) -> int:
        return len(self.train)


def labels_task(data: LabelledData, inputs: Any, settings: BertFineTuneSettings, setup: Setup) -> "LabelTask":
    """Fine-tune the BERT `inputs.fine_tune` on labeled examples."""
    examples = Examples.of(data.train, data.valid, settings)
    what = f"{len(examples.classes)} classes" if examples.classes else "numbers"
    setup.say(
        f"{len(examples.train):,} examples to train on, {len(examples.valid):,} to validate on; labels are {what}"
    )
    return fine_tune_task(examples, inputs.fine_tune, settings, setup)


def fine_tune_task(
    examples: Examples, base: Path, settings: BertFineTuneSettings, setup: Setup
) -> "LabelTask":
    before = bert_in(base)
    if same_labels(before, examples):
        examples = replace(examples, classes=before.classes)  # in the order of the model
    settings = with_precision(
        settings, before.model.config.encoder.stack.width, choose_device(settings.training), setup.group
    )
    task = LabelTask(examples, before, base, settings)
    settings = with_epochs(settings, lambda: task.data(examples.train, before.tokenizer, shuffled=True))
    return replace(task, settings=settings)


def bert_in(base: Path) -> Bert | TextClassifier:
    found = load_for(base, "train bert --fine-tune", object)
    assert isinstance(found, Bert | TextClassifier)  # no other kind has this command
    return found


def same_labels(before: Bert | TextClassifier, examples: Examples) -> TypeGuard[TextClassifier]:
    """Whether the labels are the same, in any order, so that the head can be kept."""
    return isinstance(before, TextClassifier) and sorted(before.classes) == sorted(examples.classes)


@dataclass(frozen=True)
class LabelTask(Task[TextClassifier]):
    unit: ClassVar = "examples"

    examples: Examples
    before: Bert | TextClassifier  # the model to fine-tune
    base: Path
    settings: BertFineTuneSettings

    @property
    def width(self) -> int:
        return self.before.model.config.encoder.stack.width

    def fingerprint(self) -> dict[str, str]:
        return {
            "training labels": self.examples.train.fingerprint(),
            "validation labels": self.examples.valid.fingerprint(),
            "model to fine-tune": file_hash(self.base / MODEL_FILE),
            **description_hashes(self.base),
        }

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.before.tokenizer.text().encode()}

    def data(self, examples: Labelled, tokenizer: WordPieceTokenizer, *, shuffled: bool) -> "LabelData":
        return LabelData(
            examples,
            tokenizer,
            self.examples,
            self.before._defaults.max_length,
            self.settings.training.batch_tokens,
            shuffled=shuffled,
        )

    def assemble(self, folder: Path) -> Assembled[TextClassifier]:
        tokenizer, examples = WordPieceTokenizer.load(folder / TOKENIZER_FILE), self.examples
        mean, deviation = examples.scale
        defaults = TextClassifierDefaults(
            max_length=self.before._defaults.max_length,
            classes=examples.classes,
            pairs=examples.train.seconds is not None,
            mean=mean,
            deviation=deviation,
        )
        return Assembled(
            product=TextClassifier(self.new_model(), tokenizer, defaults),
            train=self.data(examples.train, tokenizer, shuffled=True),
            valid=self.data(examples.valid, tokenizer, shuffled=False),
        )

    def new_model(self) -> BertClassifier:
        """A classifier with the encoder, the pooler if there is one, and the head if the labels are the same."""
        before, classes = self.before, self.examples.classes
        encoder = before.model.config.encoder
        share = self.settings.dropout
        stack = replace(encoder.stack, dropout=share, attention_dropout=share)
        model = BertClassifier(
            BertClassifierConfig(
                encoder=replace(encoder, stack=stack), outputs=len(classes) or 1, numbers=not classes
            )
        )
        if self.settings.pretrained:
            own, given = model.state_dict(), before.model.state_dict()
            given = {
                name: tensor for name, tensor in given.items() if name in own and not name.startswith(HEAD)
            }
            if same_labels(before, self.examples):
                given |= head_of(before, self.examples.scale)
            model.load_state_dict(own | given)
        return model

    def finish(self, product: TextClassifier, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        examples, settings = self.examples, self.settings
        report: dict[str, Any] = {
            **facts_of_run(run, product.model, chosen, settings, counted="examples"),
            "kind": "bert-classifier",
            "data": {
                "origin": f"{origin_of([Path(examples.train.where)])}, on top of {self.base.name}",
                "examples": len(run.train),
                "validation_examples": len(run.valid),
            },
            "vocab_size": len(product.tokenizer),
            "validation": {"loss": round(chosen.loss, 4)},
            "fine_tuned": {"from": self.base.name, "head": "new"},
            "results": results(product._running(EXACT), examples.valid),
        }
        if settings.pretrained and same_labels(self.before, examples):
            report["fine_tuned"] = {"from": self.base.name, "head": "kept"}
            then = results(self.before._reading_pairs(product._defaults.pairs), examples.valid)
            report["results"] = {f"{name} before": value for name, value in then.items()} | report["results"]
        title = "BERT, fine-tuned to " + (
            f"predict {', '.join(examples.classes)}" if examples.classes else "predict numbers"
        )
        save_report(out, report, model_card(title, PURPOSE, report))
        return report


def head_of(before: TextClassifier, scale: tuple[float, float]) -> dict[str, Tensor]:
    """The weights of the head. For numbers, they are converted to the mean and deviation of the new labels."""
    head, (mean, deviation) = before.model.labels.state_dict(), scale
    weight, bias = head["weight"], head["bias"]
    if not before.classes:
        weight = weight * (before._defaults.deviation / deviation)
        bias = (before._defaults.mean + before._defaults.deviation * bias - mean) / deviation
    return {f"{HEAD}weight": weight, f"{HEAD}bias": bias}


class LabelData:
    """Encoded texts with labels in batches of similar length (implements the loop's Data protocol)."""

    def __init__(
        self,
        examples: Labelled,
        tokenizer: WordPieceTokenizer,
        whole: Examples,
        longest: int,
        batch_tokens: int,
        *,
        shuffled: bool,
    ):
        self.tokenizer, self.batch_tokens, self.shuffled = tokenizer, batch_tokens, shuffled
        self.rows = rows_with_lines(examples, tokenizer, longest)
        mean, deviation = whole.scale
        self.targets = [(target - mean) / deviation for target in targets_of(examples, whole.classes)]
        self.kind = torch.long if whole.classes else torch.float

    def __len__(self) -> int:
        return len(self.rows)

    def epoch(self, seed: int) -> Batches:
        lengths = [len(row.ids) for row in self.rows]
        return token_batches(lengths, self.batch_tokens, seed if self.shuffled else None)

    def batch(self, rows: list[int]) -> LabelBatch:
        chosen = [self.rows[row] for row in rows]
        return LabelBatch(
            ids=pad_rows([row.ids for row in chosen], self.tokenizer.pad),
            segments=pad_rows([row.segments for row in chosen], 0),
            labels=torch.tensor([self.targets[row] for row in rows], dtype=self.kind),
        )

    def tokens(self, rows: list[int]) -> int:
        """The number of examples, over which the loss is averaged."""
        return len(rows)


def rows_with_lines(examples: Labelled, tokenizer: WordPieceTokenizer, longest: int) -> list[Row]:
    """Encode the examples. An empty or too long text is an error that names its line; texts are never truncated."""
    flat = tokenizer.encode_all([text for texts in examples.inputs for text in texts])
    size = 1 if examples.seconds is None else 2
    with name_inputs(lambda number: f"{examples.where}, line {examples.lines[number]}"):
        return rows_of(
            tokenizer, [flat[start : start + size] for start in range(0, len(flat), size)], longest
        )


def results(classifier: TextClassifier, valid: Labelled) -> dict[str, str]:
    predictions = classifier.classify(valid.inputs)
    if classifier.classes:
        return class_results([prediction.label for prediction in predictions], valid.labels)
    return number_results([prediction.number or 0.0 for prediction in predictions], valid.numbers())
