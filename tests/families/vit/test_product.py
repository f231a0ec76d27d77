"""A picture in, its class out."""

from pathlib import Path

import numpy as np
import pytest
from drawings import untrained_classifier
from PIL import Image

import qkv
from qkv.checkpoint.files import read_json, write_json
from qkv.errors import QkvError
from qkv.families.vit.product import ImageClassifier
from qkv.runtime.pixels import as_input, as_pixels


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    values = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(values).save(tmp_path / "a.png")
    return tmp_path / "a.png"


def test_a_saved_classifier_gives_the_same_output(tmp_path: Path, picture: Path) -> None:
    before = untrained_classifier()
    before.save(tmp_path / "model")
    after = qkv.load(tmp_path / "model")
    assert isinstance(after, ImageClassifier)
    [[said], [again]] = (each.classify([(str(picture),)]) for each in (before, after))
    assert said.label == again.label
    assert said.probabilities == pytest.approx(again.probabilities, abs=1e-6)
    assert sum(said.probabilities.values()) == pytest.approx(1)
    assert next(iter(said.probabilities)) == said.label


def test_images_are_classified_one_by_one_or_in_a_batch(picture: Path) -> None:
    own, other = untrained_classifier(), picture.with_name("b.png")
    Image.new("RGB", (8, 8), "red").save(other)
    counted: list[int] = []
    names = [(str(picture),), (str(other),), (str(picture),)]
    together = own.classify(names, done=counted.append)
    assert sum(counted) == 3
    alone = [own.classify([name])[0] for name in names]
    for one, each in zip(alone, together, strict=True):
        assert one.label == each.label
        assert one.probabilities == pytest.approx(each.probabilities, abs=1e-6)


def test_a_picture_that_differs_is_made_to_fit_where_that_is_allowed(picture: Path) -> None:
    Image.open(picture).convert("L").resize((20, 30)).save(picture)
    own = untrained_classifier()
    with pytest.raises(QkvError, match="fit images to the model"):
        own.classify([(str(picture),)])
    assert own.classify(picture, fit=True).label in own.classes


def test_an_image_is_traced_as_it_is_classified(picture: Path) -> None:
    own, image = untrained_classifier(), Image.open(picture)
    expected = qkv.trace(own, picture)["logits"]
    for same in (str(picture), image, np.asarray(image), np.asarray(image) / 255):
        assert np.array_equal(qkv.trace(own, same)["logits"], expected)
    assert qkv.trace(own, image).output == own.classify(image).label
    with pytest.raises(qkv.InputTypeError, match="text is int; expected an image"):
        qkv.trace(own, 7)


def test_a_bundle_whose_parts_do_not_belong_together_is_rejected(tmp_path: Path) -> None:
    untrained_classifier().save(tmp_path)
    config = read_json(tmp_path / "config.json")
    write_json(tmp_path / "config.json", config | {"classes": ["ant", "bee"]})
    with pytest.raises(QkvError, match="do not match the model"):
        qkv.load(tmp_path)


def test_bytes_come_back_from_what_a_model_reads() -> None:
    values = np.arange(256, dtype=np.uint8)
    assert np.array_equal(as_pixels(as_input(values)), values)
    assert as_input(values)[[0, -1]].tolist() == [-1, 1]
