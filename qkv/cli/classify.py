"""`qkv classify`: which class a text, a pair of texts or a picture belongs to."""

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from qkv.cli.options import read_options
from qkv.cli.threads import check_threads, use_threads
from qkv.errors import UserError, naming
from qkv.families.vit.options import ClassificationOptions

if TYPE_CHECKING:
    from qkv.runtime.predictions import Classifier, Prediction


@dataclass(frozen=True, kw_only=True)
class Classify:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    inputs: tyro.conf.Positional[tuple[str, ...]] = ()
    """Texts, or files of pictures where the model reads pictures; a model of pairs takes two texts for each,
    one that chooses a text and the answers to choose from. Without any, lines are read from --input or from standard input; the texts of a pair stand in one line with a tab between."""
    input: Path | None = None
    """File whose lines are classified."""
    labels: Path | None = None
    """File of texts with their right labels: how often the model is right, as one line of JSON."""
    columns: str = ""
    """Columns of --labels: text,label or text,second,label, by names or by numbers from 1."""
    json: bool = False
    """One JSON object for each input, with the probabilities of all classes."""
    options: Annotated[ClassificationOptions, tyro.conf.arg(name="")] = field(
        default_factory=ClassificationOptions
    )
    threads: int | None = None
    """Cores to use; by default all."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Classify,
        arguments,
        prog="qkv classify",
        description="Say which class texts, pairs of texts or pictures belong to: a class, a tab and its probability "
        "for each; or a number, where the model gives numbers.",
    )
    check(command)
    from qkv.cli.terminal import counting

    classifier = opened(command)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.labels is not None:
        print(json.dumps(measured(classifier, command.labels, command.columns)))
        return
    best = command.options.top_k or (3 if classifier.reads == "pictures" else 1)
    named = classifier.reads == "pictures" and len(command.inputs) > 1
    before = 0
    for inputs in chunks(command, classifier):
        with as_they_came(command, before), counting("classifying", len(inputs)) as done:
            predictions = classifier.classify(inputs, done=done)
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
        raise UserError("give texts, --input or --labels, one of them.")
    if command.columns and command.labels is None:
        raise UserError("--columns belongs to --labels: it says which columns of that file to read.")
    check_threads(command.threads)


def opened(command: Classify) -> "Classifier":
    from qkv.cli.terminal import warn
    from qkv.families.loading import load_for

    use_threads(command.threads)
    model: Any = load_for(command.model, "classify", object)
    if command.options.fit:
        if not hasattr(model, "fitting"):
            raise UserError(f"--fit is for pictures, and {command.model} reads text.")
        model = model.fitting()
    if hasattr(model, "computing_in"):
        model = model.computing_in("float32", warn)
    classifier: Classifier = model
    return classifier


def chunks(command: Classify, classifier: "Classifier") -> Iterator[list[tuple[str, ...]]]:
    from qkv.cli.file_job import lines_of
    from qkv.cli.texts import standard_input

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
            raise UserError("this model compares two texts: give them two by two.")
        yield list(zip(texts[::2], texts[1::2], strict=True))
        return
    number = 0
    for lines in standard_input() if command.input is None else lines_of(command.input, 0):
        if classifier.reads == "choices":
            yield [tuple(line.split("\t")) for line in lines]
            continue
        if classifier.reads == "pictures" and not all(map(str.strip, lines)):
            place = next(index for index, line in enumerate(lines, 1) if not line.strip())
            raise UserError(f"line {number + place} is empty: each line is the path of a picture.")
        yield [as_input(line, number + index, pairs) for index, line in enumerate(lines, 1)]
        number += len(lines)


def as_they_came(command: Classify, before: int) -> AbstractContextManager[None]:
    """Inputs that are lines are called by their lines in complaints; so many came before them."""
    if command.inputs:
        return nullcontext()
    return naming(lambda number: f"{command.input or 'standard input'}, line {before + number + 1}")


def as_input(line: str, number: int, pairs: bool) -> tuple[str, ...]:
    if not pairs:
        return (line,)
    texts = tuple(line.split("\t"))
    if len(texts) != 2:
        raise UserError(f"line {number} is no pair: this model compares two texts with a tab between them.")
    return texts


def measured(classifier: "Classifier", path: Path, columns: str) -> dict[str, float | None]:
    """How the model does on examples whose labels are known."""
    from qkv.cli.terminal import counting, say
    from qkv.data.labels import read_labelled
    from qkv.evaluation.classification import accuracy, macro_f1, pearson, rounded, spearman

    if classifier.reads == "choices":
        if columns:
            raise UserError("--columns is not for a model that chooses: leave it out.")
        return share_chosen(classifier, path)
    examples = read_labelled(path, columns, say)
    if (classifier.reads == "pairs") != (examples.seconds is not None):
        wanted = "two texts" if classifier.reads == "pairs" else "one text"
        raise UserError(f"{path}: this model reads {wanted} in a row; say which columns by --columns.")
    numbers = [] if classifier.classes else examples.numbers()
    if classifier.classes:
        examples.places(classifier.classes)
    by_line = naming(lambda number: f"{path}, line {examples.lines[number]}")
    with by_line, counting("classifying", len(examples)) as done:
        predictions = classifier.classify(examples.inputs, done=done)
    if numbers:
        given = [prediction.number or 0.0 for prediction in predictions]
        return {
            "examples": len(examples),
            "pearson": rounded(pearson(given, numbers)),
            "spearman": rounded(spearman(given, numbers)),
        }
    said = [prediction.label for prediction in predictions]
    return {
        "examples": len(examples),
        "accuracy": round(accuracy(said, examples.labels), 5),
        "macro_f1": round(macro_f1(said, examples.labels), 5),
    }


def share_chosen(classifier: "Classifier", path: Path) -> dict[str, float | None]:
    """Of questions with several answers, how often the right one was chosen."""
    from qkv.cli.terminal import counting
    from qkv.data.choices import read_questions
    from qkv.evaluation.classification import accuracy

    questions = read_questions(path)
    with counting("choosing", len(questions)) as done:
        said = [prediction.label for prediction in classifier.classify(questions.inputs, done=done)]
    right = [texts[1 + place] for texts, place in zip(questions.inputs, questions.right, strict=True)]
    return {"examples": len(questions), "accuracy": round(accuracy(said, right), 5)}


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
