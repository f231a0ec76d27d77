"""`qkv classify`: predict the class of texts, pairs of texts or images."""

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qkv.cli.inputs import OptionalFile
from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.errors import QkvError, name_inputs
from qkv.flags import Flag, Positional
from qkv.runtime.prediction_options import ClassificationOptions
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.runtime.predictions import Classifier, Prediction


@dataclass(frozen=True, kw_only=True)
class Classify:
    model: Positional[Path]
    """Folder of the model."""
    inputs: Positional[tuple[str, ...]] = ()
    """Texts, or image files for a model of images. A model of pairs needs two texts for each prediction; a model that
    chooses needs a text and the answers to choose from. By default, lines are read from --input or from standard input;
    the texts of a pair are separated by a tab."""
    input: OptionalFile = None
    """File to classify, line by line."""
    labels: OptionalFile = None
    """File of labeled texts: print the scores of the model on it, as one line of JSON."""
    columns: str = ""
    """Columns of --labels: text,label or text,second,label, by name or by number from 1."""
    json: bool = False
    """Print one JSON object per input, with the probabilities of all classes."""
    options: Annotated[ClassificationOptions, Flag(name="")] = field(default_factory=ClassificationOptions)
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Classify,
        arguments,
        prog="qkv classify",
        description="Predict the class of texts, pairs of texts or images. Each line is a class, a tab and its "
        "probability, or a number if the model predicts numbers.",
    )
    check(command)
    from qkv.progress.terminal import count_progress

    classifier = open_model(command)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.labels is not None:
        print(json.dumps(evaluate_on_labels(classifier, command.labels, command.columns)))
        return
    best = command.options.top_k or (3 if classifier.reads == "images" else 1)
    fitting = {"fit": True} if command.options.fit else {}
    named = classifier.reads == "images" and len(command.inputs) > 1
    before = 0
    for inputs in chunks(command, classifier):
        with name_lines(command, before), count_progress("classifying", len(inputs)) as done:
            predictions = classifier.classify(inputs, done=done, **fitting)
        for given, prediction in zip(inputs, predictions, strict=True):
            line = as_json(given, prediction) if command.json else as_line(prediction, best)
            print(f"{given[0]}\t{line}" if named and not command.json else line)
        sys.stdout.flush()
        before += len(inputs)


def check(command: Classify) -> None:
    from qkv.cli.texts import check_text

    for text in command.inputs:
        check_text(text)
    given = [bool(command.inputs), command.input is not None, command.labels is not None]
    if sum(given) > 1:
        raise QkvError("give only one of texts, --input and --labels.")
    if command.columns and command.labels is None:
        raise QkvError("--columns needs --labels.")


def open_model(command: Classify) -> "Classifier":
    use_threads(command.running.threads)
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    model: Any = load_for(command.model, "classify", object, command.running, warn)
    if command.options.fit and model.reads != "images":
        raise QkvError(f"--fit is for images, but {command.model} reads text.")
    classifier: Classifier = model
    return classifier


def chunks(command: Classify, classifier: "Classifier") -> Iterator[list[tuple[str, ...]]]:
    from qkv.cli.texts import standard_input
    from qkv.runtime.file_job import lines_of

    pairs = classifier.reads == "pairs"
    if command.inputs and classifier.reads == "choices":
        yield [command.inputs]
        return
    if command.inputs:
        texts = command.inputs
        if not pairs:
            yield [(text,) for text in texts]
            return
        if len(texts) % 2:
            raise QkvError("this model compares two texts: give an even number of them.")
        yield list(zip(texts[::2], texts[1::2], strict=True))
        return
    number = 0
    for lines in standard_input() if command.input is None else lines_of(command.input, 0):
        if classifier.reads == "choices":
            yield [tuple(line.split("\t")) for line in lines]
            continue
        if classifier.reads == "images" and not all(map(str.strip, lines)):
            place = next(index for index, line in enumerate(lines, 1) if not line.strip())
            raise QkvError(f"line {number + place} is empty: each line must be the path of an image.")
        yield [as_input(line, number + index, pairs) for index, line in enumerate(lines, 1)]
        number += len(lines)


def name_lines(command: Classify, before: int) -> AbstractContextManager[None]:
    """Errors name the line of an input. `before` lines precede these inputs."""
    if command.inputs:
        return nullcontext()
    return name_inputs(lambda number: f"{command.input or 'standard input'}, line {before + number + 1}")


def as_input(line: str, number: int, pairs: bool) -> tuple[str, ...]:
    if not pairs:
        return (line,)
    texts = tuple(line.split("\t"))
    if len(texts) != 2:
        raise QkvError(f"line {number} is not a pair: this model needs two texts separated by a tab.")
    return texts


def evaluate_on_labels(classifier: "Classifier", path: Path, columns: str) -> dict[str, Any]:
    """Scores of the model on labeled examples."""
    from qkv.evaluation.display import Display
    from qkv.families.label_evaluation import evaluate_labels
    from qkv.families.label_evaluation_options import LabelEvaluation
    from qkv.progress.terminal import count_progress, say

    display = Display(progress=count_progress, say=say)
    return evaluate_labels(
        classifier, LabelEvaluation(labels=path, columns=columns), display=display
    ).to_dict()


def as_line(prediction: "Prediction", best: int) -> str:
    if prediction.number is not None:
        return prediction.label
    ranked = list(prediction.probabilities.items())[:best]
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in ranked)


def as_json(given: tuple[str, ...], prediction: "Prediction") -> str:
    facts: dict[str, object] = {"input": given[0] if len(given) == 1 else list(given)}
    if prediction.number is not None:
        facts["number"] = prediction.number
    else:
        facts |= {"label": prediction.label, "probabilities": dict(prediction.probabilities)}
    return json.dumps(facts, ensure_ascii=False)
