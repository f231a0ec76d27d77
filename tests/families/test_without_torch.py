"""Commands of image models run where torch is not installed."""

import json
from pathlib import Path

import numpy as np
import pytest
from drawings import untrained_classifier, untrained_codes, untrained_painter
from PIL import Image
from without_torch import run_without_torch

from qkv.data.captioned import scene_pictures
from qkv.families.dalle.codes import reconstruction
from qkv.families.dalle.options import DrawingOptions

CAPTION = "a red circle above a blue square"


def test_images_are_classified_without_torch(tmp_path: Path) -> None:
    classifier, model, picture = untrained_classifier(), str(tmp_path / "model"), str(tmp_path / "a.png")
    classifier.save(tmp_path / "model")
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(picture)
    for label in classifier.classes:
        (tmp_path / "images" / label).mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "images" / label / "1.png")
    lines = run_without_torch(
        ["classify", model, picture, "--json"],
        ["classify", model, picture, "--json", "--compute-type", "int8"],
        ["evaluate", model, "--images", str(tmp_path / "images"), "--json"],
        ["info", model],
    )
    [wanted] = classifier.classify([(picture,)])  # in torch
    exact, rounded = map(json.loads, lines[:2])
    assert exact["probabilities"] == pytest.approx(dict(wanted.probabilities), abs=1e-5)
    assert rounded["probabilities"] == pytest.approx(dict(wanted.probabilities), abs=0.05)
    assert json.loads(lines[2])["accuracy"] == pytest.approx(1 / 3, abs=1e-4)
    assert "image classifier" in "\n".join(lines[3:])


def test_captions_are_drawn_without_torch(tmp_path: Path) -> None:
    painter, model, drawing = untrained_painter(), str(tmp_path / "model"), str(tmp_path / "drawing.png")
    painter.save(tmp_path / "model")
    untrained_codes().save(tmp_path / "codes")
    lines = run_without_torch(
        ["draw", model, CAPTION, "-o", drawing, "--candidates", "3", "--seed", "5", "--scale", "1"],
        ["evaluate", model, "--scenes", "2", "--candidates", "1", "--json"],
        ["evaluate", str(tmp_path / "codes"), "--scenes", "4", "--json"],
    )
    wanted = painter.draw(CAPTION, DrawingOptions(candidates=3, seed=5))[0]  # in torch
    assert np.array_equal(np.asarray(Image.open(drawing)), wanted.pixels.transpose(1, 2, 0))
    assert lines[0] == drawing
    drawn, rebuilt = (json.loads(line) for line in lines[1:])
    assert drawn["captions"] == 2
    images = scene_pictures("valid", 4, 32).pictures
    assert rebuilt["reconstruction"] == pytest.approx(reconstruction(untrained_codes(), images), abs=1e-4)
