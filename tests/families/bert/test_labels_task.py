"""A classifier of texts goes on from the weights it has; its head too where the labels are of the same kind."""

from pathlib import Path
from typing import Any

import pytest
import torch
from digit_runs import Recorder
from tiny_bert import tiny_bert, tiny_classifier

from qkv.data.labels import read_labelled
from qkv.families.bert.labels_task import Examples, fine_tune_task
from qkv.families.bert.settings import BertFineTuneSettings
from qkv.families.loading import load
from qkv.training.runs import train
from qkv.training.settings import TrainingSettings
from qkv.training.trainable import Setup

TEXTS = ["the cat sat", "a dog barked", "he is reading a book", "it slept there", "nobody cared"]


def tuned(base: Path, out: Path, labels: list[str], **others: Any) -> dict[str, Any]:
    """By one step that changes no weight, but for zeros by next to nothing."""
    out.parent.mkdir(exist_ok=True)
    file = out.parent / "labels.tsv"
    rows = [f"{text} {number}\t{labels[number % len(labels)]}\n" for number in range(4) for text in TEXTS]
    file.write_text("".join(rows), encoding="utf-8")
    training = TrainingSettings(
        batch_tokens=64, learning_rate=1e-30, warmup_steps=0, validate_every=10, average=1
    )
    settings = BertFineTuneSettings(steps=1, training=training, **others)
    examples = Examples.of(read_labelled(file, ""), None, settings)
    outcome = train(fine_tune_task(examples, base, settings, Setup()), out, watch=lambda _: Recorder())
    assert outcome.report is not None
    return outcome.report


def kept(base: Path, out: Path) -> set[str]:
    """The names of the weights that are as they were."""
    before, after = (load(each).model.state_dict() for each in (base, out))
    return {name for name, each in after.items() if name in before and same(before[name], each)}


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=1e-25)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """It knows the classes bad, fine and good."""
    tiny_classifier().save(tmp_path / "base")
    return tmp_path / "base"


def test_the_same_classes_keep_the_head_and_their_order(tmp_path: Path) -> None:
    tiny_classifier(("good", "bad", "fine")).save(tmp_path / "base")
    report = tuned(tmp_path / "base", tmp_path / "out", ["bad", "fine", "good"])
    assert load(tmp_path / "out").classes == ("good", "bad", "fine")
    assert kept(tmp_path / "base", tmp_path / "out") == set(load(tmp_path / "base").model.state_dict())
    assert report["fine_tuned"] == {"from": "base", "head": "kept"}
    assert report["results"]["accuracy before"] == report["results"]["accuracy"]


@pytest.mark.parametrize("labels", [["bad", "good"], ["bad", "fine", "great"], ["1.5", "3.0"]])
def test_other_labels_get_a_new_head_on_the_same_body(labels: list[str], base: Path, tmp_path: Path) -> None:
    report = tuned(base, tmp_path / "out", labels)
    expected = {name for name in load(base).model.state_dict() if not name.startswith("labels.")}
    found = kept(base, tmp_path / "out")
    assert found - {"labels.bias"} == expected
    assert report["fine_tuned"] == {"from": "base", "head": "new"}


def test_a_kept_regression_head_predicts_the_same_numbers_on_the_new_scale(tmp_path: Path) -> None:
    tiny_classifier(()).save(tmp_path / "base")
    report = tuned(tmp_path / "base", tmp_path / "out", ["10.0", "25.5"])
    assert report["fine_tuned"]["head"] == "kept"
    before, after = load(tmp_path / "base"), load(tmp_path / "out")
    assert after._defaults.mean != before._defaults.mean
    asked = [(text,) for text in TEXTS]
    numbers = [[verdict.number for verdict in each.classify(asked)] for each in (before, after)]
    assert numbers[1] == pytest.approx(numbers[0], abs=1e-4)


def test_without_its_weights_nothing_is_kept(base: Path, tmp_path: Path) -> None:
    report = tuned(base, tmp_path / "out", ["bad", "fine", "good"], pretrained=False)
    assert report["fine_tuned"]["head"] == "new"
    assert "encoder.tokens.weight" not in kept(base, tmp_path / "out")


def test_a_bert_without_labels_gets_a_head(tmp_path: Path) -> None:
    tiny_bert().save(tmp_path / "base")
    report = tuned(tmp_path / "base", tmp_path / "out", ["bad", "good"])
    assert report["fine_tuned"] == {"from": "base", "head": "new"}
    assert "pooler.linear.weight" in kept(tmp_path / "base", tmp_path / "out")
