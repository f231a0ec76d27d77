"""A classifier of texts: predictions, pairs, numbers, and sentences for what it cannot read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_bert import tiny_classifier

from qkv.checkpoint.files import read_json, write_json
from qkv.errors import QkvError
from qkv.families.loading import load
from qkv.runtime.running import EXACT, Running

INPUTS = [("the cat sat",), ("a dog barked at the cat",), ("why?",)]


def test_a_prediction_has_all_classes_best_first() -> None:
    classifier = tiny_classifier()
    for prediction in classifier.classify(INPUTS):
        assert set(prediction.probabilities) == {"bad", "fine", "good"}
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.label == max(
            prediction.probabilities, key=lambda label: prediction.probabilities[label]
        )


@torch.no_grad()
def test_predictions_are_those_of_the_model() -> None:
    classifier = tiny_classifier(pairs=True)
    first, second = "the cat sat", "why?"
    ids, segments = classifier.tokenizer.join_texts(classifier.tokenizer.encode_all([first, second]))
    wanted = classifier.model(torch.tensor([ids]), torch.tensor([segments])).softmax(-1)[0]
    [prediction] = classifier.classify([(first, second)])
    found = [prediction.probabilities[label] for label in classifier.classes]
    assert found == pytest.approx(wanted.tolist(), abs=1e-5)


def test_numbers_are_in_the_units_that_were_learned() -> None:
    classifier = tiny_classifier(())
    logits = classifier._logits(INPUTS, lambda count: None)[:, 0]
    assert [prediction.number for prediction in classifier.classify(INPUTS)] == pytest.approx(
        (2.5 + 1.5 * logits).tolist()
    )


@pytest.mark.parametrize("classes", [("bad", "good"), ()])
def test_saved_and_loaded_it_gives_the_same_output(classes: tuple[str, ...], tmp_path: Path) -> None:
    classifier = tiny_classifier(classes)
    classifier.save(tmp_path / "m")
    assert load(tmp_path / "m").classify(INPUTS) == classifier._running(Running()).classify(INPUTS)
    for one, other in zip(
        load(tmp_path / "m", EXACT).classify(INPUTS), classifier.classify(INPUTS), strict=True
    ):
        assert one.probabilities == pytest.approx(dict(other.probabilities), abs=1e-5)
        assert one.number == pytest.approx(other.number, abs=1e-4)


def test_texts_need_no_tuples() -> None:
    classifier = tiny_classifier()
    [wanted] = classifier.classify([("the cat sat",)])
    assert classifier.classify("the cat sat") == wanted
    assert classifier.classify(["the cat sat"]) == [wanted]


@pytest.mark.parametrize(
    ("pairs", "inputs", "says"),
    [
        (
            False,
            [("the cat",), ("a dog", "why?")],
            r"inputs\[1\] has 2 texts, but this model reads text: give one text",
        ),
        (False, [()], r"inputs\[0\] has 0 texts"),
        (
            True,
            [("the cat", "a dog"), ("why?",), ("the mat",)],
            r"inputs\[1\] has 1 text, but this model reads pairs",
        ),
        (True, [("the cat", "a dog", "why?")], r"inputs\[0\] has 3 texts"),
    ],
)
def test_another_number_of_texts_is_rejected(pairs: bool, inputs: Any, says: str) -> None:
    with pytest.raises(QkvError, match=says):
        tiny_classifier(pairs=pairs).classify(inputs)


@pytest.mark.parametrize("nothing", ["", " ", "\u200b", "\x00\ufeff"])
def test_a_text_without_tokens_counts_as_empty(nothing: str) -> None:
    with pytest.raises(QkvError, match=r"inputs\[1\] is empty"):
        tiny_classifier().classify([("the cat",), (nothing,)])
    with pytest.raises(QkvError, match=r"inputs\[0\] has an empty text"):
        tiny_classifier(pairs=True).classify([("the cat", nothing)])


def test_a_model_of_one_segment_reads_no_pairs() -> None:
    classifier = tiny_classifier()
    encoder = replace(classifier.config.encoder, segments=1)
    classifier._network.config = replace(classifier.config, encoder=encoder)
    with pytest.raises(QkvError, match="reads single texts, not pairs"):
        classifier._reading_pairs(True)


def test_empty_and_long_texts_are_rejected() -> None:
    with pytest.raises(QkvError, match=r"inputs\[1\] is empty"):
        tiny_classifier().classify([("the cat",), (" ",)])
    with pytest.raises(QkvError, match=r"inputs\[0\] has 42 tokens, and this model reads at most 24"):
        tiny_classifier().classify([("cat " * 40,)])


def test_outputs_that_are_not_the_classes_are_rejected(tmp_path: Path) -> None:
    tiny_classifier().save(tmp_path / "m")
    config = read_json(tmp_path / "m" / "config.json")
    config["classes"] = ["bad", "good"]
    write_json(tmp_path / "m" / "config.json", config)
    with pytest.raises(QkvError, match="the number of classes does not match"):
        load(tmp_path / "m")
