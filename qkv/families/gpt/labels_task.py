"""Fine-tunes a language model on labeled examples, as a classifier (GPT-1, section 3.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, ClassVar

import torch

from qkv.checkpoint.bundle import MODEL_FILE, TOKENIZER_FILE, description_hashes, save_report
from qkv.checkpoint.files import file_hash
from qkv.data.choices import read_questions
from qkv.data.holding_out import hold_out_examples
from qkv.data.labels import Labelled, read_labelled
from qkv.data.origins import origin_of
from qkv.errors import QkvError
from qkv.evaluation.classification import class_results, number_results
from qkv.families.gpt.classifier import ClassifierDefaults, Form, GPTClassifier, batches_of
from qkv.families.gpt.config import TaskConfig
from qkv.families.gpt.model import GPTForTask, TaskBatch
from qkv.families.gpt.product import LanguageModel, tokenizer_for
from qkv.families.gpt.settings import FineTuneSettings
from qkv.families.loading import load_for
from qkv.runtime.predictions import EXAMPLES
from qkv.text.tokenizer import Tokenizer
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
    use="The model predicts one of the labels it was trained on, also for texts that fit none of them.",
)


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Texts, with the class, the number or the right answer of each."""

    inputs: list[tuple[str, ...]]
    answers: list[int] | list[float]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Training and validation examples, and how they are read."""

    train: Examples
    valid: Examples
    form: Form
    classes: tuple[str, ...]  # empty for numbers and choices
    origin: str

    @property
    def amount(self) -> int:
        return len(self.train)

    @property
    def numbers(self) -> bool:
        return self.form != "choice" and not self.classes

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of the numbers."""
        if not self.numbers:
            return 0.0, 1.0
        return fmean(self.train.answers), pstdev(self.train.answers) or 1.0


def read_labels(
    path: Path,
    valid: Path | None,
    columns: str,
    settings: FineTuneSettings,
    say: Callable[[str], None] = lambda line: None,
) -> Labels:
    """Read the examples. Without a validation file, some are held out."""
    if settings.form == "choice":
        if columns:
            raise QkvError(
                "columns cannot be chosen for questions with several answers: each line is a text, its answers and the "
                "number of the right one."
            )
        return read_choices(path, valid, settings)
    labelled = read_labelled(path, columns, say)
    second = None if valid is None else read_labelled(valid, columns, say)
    if second is not None and (second.seconds is None) != (labelled.seconds is None):
        raise QkvError(f"{path} and {valid} must have the same number of texts per line.")
    form = form_of(labelled, settings)
    numbers = labelled.are_numbers()
    classes = () if numbers else labelled.classes()
    if numbers:
        labelled.check_spread()
    train, held = (
        (labelled, second)
        if second is not None
        else hold_out_examples(labelled, settings.valid_size, settings.seed)
    )
    both = [
        Examples(
            inputs=part.inputs,
            answers=part.numbers() if numbers else part.places(classes),
            fingerprint=part.fingerprint(),
        )
        for part in (train, held)
    ]
    return Labels(train=both[0], valid=both[1], form=form, classes=classes, origin=origin_of([path]))


def read_choices(path: Path, valid: Path | None, settings: FineTuneSettings) -> Labels:
    first = read_questions(path)
    parts = (
        hold_out_examples(first, settings.valid_size, settings.seed)
        if valid is None
        else (first, read_questions(valid))
    )
    both = [
        Examples(inputs=part.inputs, answers=part.right, fingerprint=part.fingerprint()) for part in parts
    ]
    return Labels(train=both[0], valid=both[1], form="choice", classes=(), origin=origin_of([path]))


def form_of(labelled: Labelled, settings: FineTuneSettings) -> Form:
    pairs = labelled.seconds is not None
    if settings.form == "automatic":
        if not pairs:
            return "classification"
        return "similarity" if labelled.are_numbers() else "entailment"
    if settings.form == "choice" or pairs != (settings.form != "classification"):
        wanted = "one text" if settings.form == "classification" else "two texts"
        raise QkvError(f"{labelled.where}: the form {settings.form} needs {wanted} and a label per line.")
    return settings.form


class ExampleData:
    """Examples in batches of similar length (implements the loop's Data protocol)."""

    def __init__(
        self, readings: list[list[list[int]]], answers: Sequence[float], batch_tokens: int, *, shuffled: bool
    ):
        self.readings, self.batch_tokens, self.shuffled = readings, batch_tokens, shuffled
        self.answers = torch.tensor(answers)

    def __len__(self) -> int:
        return len(self.readings)

    def epoch(self, seed: int) -> list[list[int]]:
        return batches_of(self.readings, self.batch_tokens, seed if self.shuffled else None)

    def batch(self, rows: list[int]) -> TaskBatch:
        return TaskBatch.of([self.readings[row] for row in rows], self.answers[rows], pad=0)

    def tokens(self, rows: list[int]) -> int:
        """The number of examples, over which the loss is averaged."""
        return len(rows)


def labels_task(data: Labels, inputs: Any, settings: FineTuneSettings, setup: Setup) -> "FineTuneTask":
    """Fine-tune the language model `inputs.fine_tune` on labeled examples."""
    labels, base = data, inputs.fine_tune
    setup.say(
        f"{len(labels.train):,} examples to train on, {len(labels.valid):,} to validate on; read as {labels.form}"
    )
    before = language_model_in(base)
    settings = with_precision(
        settings, before.model.config.stack.width, choose_device(settings.training), setup.group
    )
    task = FineTuneTask(labels, before, base, settings)
    settings = with_epochs(
        settings, lambda: task.data(task.product(before.tokenizer), labels.train, shuffled=True)
    )
    return replace(task, settings=settings)


def language_model_in(base: Path) -> LanguageModel:
    found = load_for(base, "train gpt --fine-tune", LanguageModel)
    if found._defaults.token_type == "notes":
        raise QkvError(
            f"{base} is a music model, but labels need a text model: give a language model of text."
        )
    return found


@dataclass(frozen=True)
class FineTuneTask(Task[GPTClassifier]):
    unit: ClassVar = "examples"

    labels: Labels
    before: LanguageModel
    base: Path  # the folder of the model
    settings: FineTuneSettings

    @property
    def width(self) -> int:
        return self.before.model.config.stack.width

    def fingerprint(self) -> dict[str, str]:
        return {
            "training labels": f"{self.labels.train.fingerprint}, answered after {self.before.tokenizer.start}",
            "validation labels": self.labels.valid.fingerprint,
            "weights to begin with": file_hash(self.base / MODEL_FILE),
            **description_hashes(self.base),
        }

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.before.tokenizer.text().encode()}

    def product(self, tokenizer: Tokenizer) -> GPTClassifier:
        labels, config = self.labels, self.before.model.config
        stack = replace(config.stack, dropout=self.settings.dropout)
        task = "choice" if labels.form == "choice" else "value" if labels.numbers else "classes"
        model = GPTForTask(
            TaskConfig(
                gpt=replace(config, stack=stack),
                task=task,  # type: ignore[arg-type]
                classes=len(labels.classes) or 1,
                auxiliary=self.settings.auxiliary_weight,
            )
        )
        if self.settings.pretrained:
            model.gpt.load_state_dict(self.before.model.state_dict())
        defaults = ClassifierDefaults(
            token_type=self.before._defaults.token_type,
            form=labels.form,
            classes=labels.classes,
            scale=labels.scale,
            start=tokenizer.start,
            last=tokenizer.start,  # not the end token, after which a language model ignores earlier text
        )
        return GPTClassifier(model, tokenizer, defaults)

    def data(self, product: GPTClassifier, examples: Examples, *, shuffled: bool) -> ExampleData:
        readings = [product._readings(texts) for texts in examples.inputs]
        answers: Sequence[float] = examples.answers
        if self.labels.numbers:
            middle, spread = self.labels.scale
            answers = [(answer - middle) / spread for answer in answers]
        return ExampleData(readings, answers, self.settings.training.batch_tokens, shuffled=shuffled)

    def assemble(self, folder: Path) -> Assembled[GPTClassifier]:
        before = self.before
        path = folder / TOKENIZER_FILE
        product = self.product(tokenizer_for(before._defaults.token_type, path, before.model.config))
        return Assembled(
            product=product,
            train=self.data(product, self.labels.train, shuffled=True),
            valid=self.data(product, self.labels.valid, shuffled=False),
        )

    def finish(self, product: GPTClassifier, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        labels = self.labels
        report = {
            **facts_of_run(run, product.model, chosen, self.settings, counted="examples"),
            "kind": "gpt-classifier",
            "data": {
                "origin": labels.origin,
                "examples": len(labels.train),
                "validation_examples": len(labels.valid),
                "form": labels.form,
                "classes": list(labels.classes),
            },
            "validation": {"loss": round(chosen.loss, 4)},
            "results": {
                "validation loss": f"{chosen.loss:.4f}",
                **results(product, labels),
            },
        }
        purpose = replace(PURPOSE, command=f"qkv classify . {EXAMPLES[product.reads]}")
        card = model_card(f"GPT, fine-tuned for {labels.form}", purpose, report)
        save_report(out, report, card)
        return report


def results(product: GPTClassifier, labels: Labels) -> dict[str, str]:
    """Scores on the validation part."""
    valid = labels.valid
    predictions = product.classify(valid.inputs)
    if labels.numbers:
        return number_results([prediction.number or 0.0 for prediction in predictions], valid.answers)
    names = [labels.classes or texts[1:] for texts in valid.inputs]
    right = [own[int(answer)] for own, answer in zip(names, valid.answers, strict=True)]
    return class_results([prediction.label for prediction in predictions], right, macro=bool(labels.classes))
