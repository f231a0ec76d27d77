"""Evaluate a text classifier of any family on labeled examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qkv.data.choices import read_questions
from qkv.data.given import check_length, items_of
from qkv.data.labels import given_layout, is_number, named_layout, quote_some, read_labelled
from qkv.data.python_rows import Row, as_path, is_path, rows_of
from qkv.data.python_texts import class_names
from qkv.errors import DataError, InputError, InputTypeError, name_inputs, type_name
from qkv.evaluation.classification import accuracy, macro_f1, pearson, round_or_none, spearman
from qkv.evaluation.display import SILENT, Display
from qkv.evaluation.evaluator import NOTHING, Evaluator
from qkv.evaluation.report import Report, present_fields
from qkv.families.label_evaluation_options import LabelEvaluation
from qkv.families.products import open_for
from qkv.flags import OptionMessageError
from qkv.runtime.predictions import Classifier, Prediction
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True, repr=False)
class ClassificationReport(Report):
    """Scores of a text classifier, from `qkv.evaluate`: accuracy and F1, or correlations if it predicts numbers.

    Example:
        >>> report = qkv.evaluate("runs/sentiment", ["one two", "two one"], labels=[0, 1])
        >>> report.examples
        2
        >>> 0 <= report.accuracy <= 1
        True
    """

    examples: int
    accuracy: float | None = None
    macro_f1: float | None = None
    pearson: float | None = None
    spearman: float | None = None
    predictions: list[Prediction] = field(repr=False)
    numbers: bool = field(default=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON document of `qkv classify` with labels."""
        if self.numbers:  # a correlation is unknown if all numbers are equal
            return {"examples": self.examples, "pearson": self.pearson, "spearman": self.spearman}
        return present_fields(self)

    def __str__(self) -> str:
        return "".join(f"{name.replace('_', ' '):<10}{value}\n" for name, value in self.to_dict().items())


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Inputs of a classifier with what it should predict."""

    inputs: list[tuple[str, ...]]
    labels: list[str]
    name: Callable[[int], str]
    """The place of an example, for messages."""

    def __len__(self) -> int:
        return len(self.inputs)


def evaluate_labels(
    model: Any,
    options: LabelEvaluation = LabelEvaluation(),  # noqa: B008  (it is frozen)
    running: Running = EXACT,
    display: Display = SILENT,
    given: Mapping[str, Any] = NOTHING,
) -> ClassificationReport:
    """Scores of a classifier on labeled examples."""
    if options.labels is None:
        raise OptionMessageError("to evaluate a classifier, give {labels}.")
    classifier: Classifier = open_for(model, "classify", running, display.warn)
    examples = read_examples(classifier, options, given.get("source"), display)
    what = "choosing" if classifier.reads == "choices" else "classifying"
    with name_inputs(examples.name), display.progress(what, len(examples)) as done:
        predictions = classifier.classify(examples.inputs, done=done)
    return scored(classifier, examples, predictions)


EVALUATOR = Evaluator(
    options=LabelEvaluation, evaluate=evaluate_labels, positional=("source", "labels"), more=("source",)
)


def scored(classifier: Classifier, examples: Examples, predictions: list[Prediction]) -> ClassificationReport:
    predicted, count = [each.label for each in predictions], len(examples)
    if classifier.reads == "choices":
        right = round(accuracy(predicted, examples.labels), 5)
        return ClassificationReport(examples=count, accuracy=right, predictions=predictions)
    if classifier.classes:
        return ClassificationReport(
            examples=count,
            accuracy=round(accuracy(predicted, examples.labels), 5),
            macro_f1=round(macro_f1(predicted, examples.labels), 5),
            predictions=predictions,
        )
    numbers, wanted = [each.number or 0.0 for each in predictions], list(map(float, examples.labels))
    return ClassificationReport(
        examples=count,
        pearson=round_or_none(pearson(numbers, wanted)),
        spearman=round_or_none(spearman(numbers, wanted)),
        predictions=predictions,
        numbers=True,
    )


# Examples from files ---------------------------------------------------------------------------------


def read_examples(
    classifier: Classifier, options: LabelEvaluation, source: Any, display: Display
) -> Examples:
    if not is_path(options.labels):
        return given_examples(classifier, source, options.labels, options.columns)
    if source is not None:
        raise OptionMessageError("a file of {labels} has its own texts: leave out {source}.")
    path = as_path(options.labels)
    if classifier.reads == "choices":
        if options.columns:
            raise OptionMessageError("{columns} cannot be used with a model that chooses between answers.")
        questions = read_questions(path)
        right = [texts[1 + place] for texts, place in zip(questions.inputs, questions.right, strict=True)]
        return Examples(inputs=questions.inputs, labels=right, name=lambda number: f"{path}, {number + 1}")
    examples = read_labelled(path, options.columns, display.say)
    if (classifier.reads == "pairs") != (examples.seconds is not None):
        wanted = "two texts" if classifier.reads == "pairs" else "one text"
        raise OptionMessageError(
            "{path}: this model needs {wanted} per row. Name the columns with {columns}.",
            path=path,
            wanted=wanted,
        )
    if classifier.classes:
        examples.places(classifier.classes)
    else:
        examples.numbers()
    return Examples(
        inputs=examples.inputs,
        labels=examples.labels,
        name=lambda number: f"{path}, line {examples.lines[number]}",
    )


# Examples from Python --------------------------------------------------------------------------------


def given_examples(classifier: Classifier, source: Any, labels: Any, columns: str) -> Examples:
    """Two lists, `source` and `labels`, or rows with both."""
    name = "labels" if source is None else "source"
    if source is None:
        rows = [cells_of(row, columns, labels) for row in rows_of(labels, "labels")]
    else:
        texts, answers = items_of(source, "source"), items_of(labels, "labels", "labels")
        check_length(len(answers), "labels", len(texts), "source")
        rows = [(*texts_in(each), answer) for each, answer in zip(texts, answers, strict=True)]
    for place, (*texts, _) in enumerate(rows):
        check_count(classifier, texts, f"{name}[{place}]")
        for text in texts:
            Row(f"{name}[{place}]", text).text()
    return Examples(
        inputs=[tuple(texts) for *texts, _ in rows],
        labels=[label_of(classifier, row, f"labels[{place}]") for place, row in enumerate(rows)],
        name=lambda number: f"{name}[{number}]",
    )


def texts_in(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def cells_of(row: Row, columns: str, table: Any) -> tuple[Any, ...]:
    """The texts of a row, and its label last. A data set of `datasets` has names for the numbers of classes."""
    value = row.value
    if isinstance(value, Mapping):
        names = [str(name).lower() for name in value]
        try:
            found = given_layout(names, columns, row.name)[0] if columns else named_layout(names, row.name)
        except DataError as error:
            raise InputError(str(error)) from None
        if found is None:
            raise InputError(
                f"{row.name} has the columns {quote_some(names)}. Name the text and the label with `columns`."
            )
        *texts, label = (list(value.values())[each] for each in found.places)
        named = class_names(table, list(value)[found.label])
        if named is not None and isinstance(label, int) and 0 <= label < len(named):
            label = named[label]
        return (*texts, label)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputTypeError(f"{row.name} is {type_name(value)}; expected a row of texts and their label.")
    return tuple(value)


def check_count(classifier: Classifier, texts: Sequence[Any], where: str) -> None:
    wanted = {"pairs": "two texts", "choices": "a text and at least two answers"}.get(
        classifier.reads, "one text"
    )
    fits = (
        len(texts) >= 3 if classifier.reads == "choices" else len(texts) == 1 + (classifier.reads == "pairs")
    )
    if not fits:
        raise InputError(f"{where} has {len(texts)} texts besides the label, but this model needs {wanted}.")


def label_of(classifier: Classifier, row: Sequence[Any], where: str) -> str:
    *texts, label = row
    if isinstance(label, bool) or not (isinstance(label, str | int | float) or hasattr(label, "item")):
        raise InputTypeError(f"{where} is {type_name(label)}; expected a class or a number.")
    found, classes = str(label), texts[1:] if classifier.reads == "choices" else classifier.classes
    if not classes:
        if not is_number(found):
            raise InputError(f"{where} is {label!r}; expected a number.")
        return found
    if (
        found not in classes
        and found.isdecimal()
        and not isinstance(label, str)
        and int(found) < len(classes)
    ):
        found = classes[int(found)]  # the number of a class, as `datasets` has it
    if found not in classes:
        raise InputError(f"{where} is {label!r}; the model has {quote_some(classes)}.")
    return found
