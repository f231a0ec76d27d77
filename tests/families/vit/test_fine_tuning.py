"""Fine-tuning a picture classifier keeps its head if the classes are the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from digit_runs import Recorder
from drawings import untrained_classifier

from qkv.data.labelled_pictures import Labelled
from qkv.errors import QkvError
from qkv.families.loading import load
from qkv.families.vit.fine_tuning import FineTuneVitTask, fine_tune_task
from qkv.families.vit.inputs import PicturesForModel
from qkv.families.vit.product import ImageClassifier
from qkv.families.vit.settings import FineTuneVitSettings
from qkv.families.vit.task import LabelledData
from qkv.training.runs import train
from qkv.training.settings import TrainingSettings
from qkv.training.trainable import Setup


def settings(steps: int | None = 1, rate: float = 1e-30, **others: Any) -> FineTuneVitSettings:
    """A step that changes no weight, but for zeros by next to nothing."""
    training = TrainingSettings(
        batch_tokens=40, learning_rate=rate, warmup_steps=0, validate_every=10, average=1
    )
    return FineTuneVitSettings(steps=steps, training=training, **others)


def gallery(*classes: str, count: int = 60) -> LabelledData:
    """Pictures of the size of the model, each of one brightness; the brighter, the later its class."""
    labels = np.arange(count, dtype=np.int64) % len(classes)
    pictures = (
        np.zeros((count, 3, 8, 8), dtype=np.uint8) + (80 * labels + 10).astype(np.uint8)[:, None, None, None]
    )
    return LabelledData.of(Labelled(pictures, labels, classes), None, None, "shades", "6")


def task(given: LabelledData, base: Path, how: FineTuneVitSettings) -> FineTuneVitTask:
    return fine_tune_task(given, PicturesForModel(fine_tune=base), how, Setup())


def tuned(base: Path, out: Path, given: LabelledData, how: FineTuneVitSettings) -> dict[str, Any]:
    outcome = train(task(given, base, how), out, watch=lambda _: Recorder())
    assert outcome.report is not None
    return outcome.report


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one, other, rtol=0, atol=1e-25)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "model"
    untrained_classifier().save(folder)
    return folder


def test_the_same_classes_in_another_order_keep_the_head_and_its_numbers(base: Path, tmp_path: Path) -> None:
    given = gallery("cow", "ant", "bee")
    report = tuned(base, tmp_path / "out", given, settings())
    before, after = load(base), load(tmp_path / "out")
    assert after.classes == before.classes == ("ant", "bee", "cow")
    for name, tensor in before.model.state_dict().items():
        assert same(after.model.state_dict()[name], tensor), name
    right = [before.classes.index(given.valid.classes[label]) for label in given.valid.labels]
    said = before._probabilities(given.valid.pictures).argmax(-1).tolist()
    share = sum(a == b for a, b in zip(said, right, strict=True)) / len(right)
    assert report["fine_tuned"] == {
        "from": "model",
        "head": "kept",
        "validation_accuracy_before": round(share, 5),
    }
    assert report["data"]["origin"] == "shades, on top of model"


@pytest.mark.parametrize("classes", [("ant", "bee"), ("ant", "bee", "dog"), ("ant", "bee", "cow", "dog")])
def test_other_classes_get_a_new_head_on_the_same_body(
    classes: tuple[str, ...], base: Path, tmp_path: Path
) -> None:
    report = tuned(base, tmp_path / "out", gallery(*classes), settings())
    before, after = load(base), load(tmp_path / "out")
    assert after.classes == classes
    for name, tensor in before.model.state_dict().items():
        assert name.startswith("head.") or same(after.model.state_dict()[name], tensor), name
    assert after.model.head.weight.abs().max() < 1e-20
    assert report["fine_tuned"] == {"from": "model", "head": "new"}
    changed = {"classes": len(classes)}
    assert after.model.config == replace(before.model.config, **changed)


def test_a_model_with_two_classes_of_one_name_gets_a_new_head(tmp_path: Path) -> None:
    before = untrained_classifier()
    ImageClassifier(before.model, replace(before._defaults, classes=("ant", "bee", "bee"))).save(
        tmp_path / "m"
    )
    report = tuned(tmp_path / "m", tmp_path / "out", gallery("ant", "bee"), settings())
    assert report["fine_tuned"]["head"] == "new"
    assert load(tmp_path / "out").classes == ("ant", "bee")


def test_settings_that_act_only_in_training_may_change(base: Path, tmp_path: Path) -> None:
    tuned(base, tmp_path / "out", gallery("ant", "bee"), settings(dropout=0.25, label_smoothing=0.125))
    config = load(tmp_path / "out").model.config
    assert (config.stack.dropout, config.label_smoothing) == (0.25, 0.125)


def test_it_learns_classes_that_it_did_not_know(base: Path, tmp_path: Path) -> None:
    how = settings(steps=None, rate=1e-2, epochs=10)
    report = tuned(base, tmp_path / "out", gallery("dark", "bright", "white"), how)
    assert report["training"]["epochs"] == pytest.approx(10, abs=1)
    assert report["results"]["validation accuracy"].startswith("100.00 %")


@pytest.mark.parametrize(
    ("form", "changes", "match"),
    [
        ((3, 8, 12), {}, "the images are 12 × 8 in colour, but .* needs 8 × 8 in colour"),
        ((1, 8, 8), {}, "the images are 8 × 8 in grey"),
        (
            (3, 8, 8),
            {"epochs": 0.0, "dropout": 1.0},
            "epochs must be more than 0, and finite; dropout must be",
        ),
        ((3, 8, 8), {"label_smoothing": -0.5}, "label_smoothing must be at least 0"),
    ],
)
def test_images_that_do_not_fit_are_rejected_and_nothing_is_written(
    form: tuple[int, ...], changes: dict[str, Any], match: str, base: Path, tmp_path: Path
) -> None:
    pictures = Labelled(np.zeros((20, *form), dtype=np.uint8), np.arange(20) % 2, ("a", "b"))
    with pytest.raises(QkvError, match=match):
        tuned(base, tmp_path / "out", LabelledData.of(pictures, None, None, "none", "2"), settings(**changes))
    assert not (tmp_path / "out").exists()


def test_a_run_is_resumed_with_the_model_it_began_with_only(base: Path, tmp_path: Path) -> None:
    tuned(base, tmp_path / "out", gallery("ant", "bee"), settings())
    other = untrained_classifier()
    with torch.no_grad():
        other.model.head.bias += 1
    other.save(tmp_path / "other")
    with pytest.raises(
        QkvError, match="the data changed since the run was started: the weights to begin with"
    ):
        train(
            task(gallery("ant", "bee"), tmp_path / "other", settings()),
            tmp_path / "out",
            watch=lambda _: Recorder(),
            resume=True,
        )
