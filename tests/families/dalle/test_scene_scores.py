"""What is measured of painters and codebooks on built-in scenes, and what cannot pass for success."""

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from drawings import untrained_painter

from qkv.data.worlds.scenes import Part, Scene, Thing, draw_scene, measured_captions
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.options import DrawingOptions
from qkv.families.dalle.recipes import dalle
from qkv.families.dalle.scene_scores import (
    SEEN_PAIRS,
    UNSEEN_PAIRS,
    as_results,
    attribute_scores,
    reconstructed_scenes,
    scene_scores,
    without_unseen,
)

ONCE = DrawingOptions(candidates=1)


def real(scenes: list[Scene]) -> list[Any]:
    return [draw_scene(scene, Random(number)).pixels for number, scene in enumerate(scenes)]


def test_drawing_no_unseen_pair_keeps_most_attributes_but_scores_no_pair() -> None:
    scenes, _ = measured_captions("unseen", 40, seed=1)
    right, without = (
        attribute_scores(scenes, real(each)) for each in (scenes, [without_unseen(scene) for scene in scenes])
    )
    assert right["colour and shape"] > 0.97
    assert without["colour and shape"] < 0.03
    assert 0.8 < without["attributes"] < 0.93


def test_of_a_scene_with_an_unseen_pair_only_that_thing_counts_as_a_pair() -> None:
    unseen = Thing(shape="diamond", colour="blue", size="large", texture="plain")
    seen = Thing(shape="circle", colour="red", size="large", texture="plain")
    other = Thing(shape="cross", colour="yellow", size="large", texture="plain")
    scene = Scene((unseen, seen), "above")
    assert attribute_scores([scene], real([Scene((unseen, other), "above")]))["colour and shape"] == 1
    assert attribute_scores([scene], real([Scene((other, seen), "above")]))["colour and shape"] == 0
    seen_alone = Scene((seen, other), "above")
    assert attribute_scores([seen_alone], real([Scene((seen, seen), "above")]))["colour and shape"] == 0.5


def test_scenes_of_one_thing_and_of_two_are_scored_apart() -> None:
    scenes, _ = measured_captions("test", 20, seed=1)
    pictures = [
        picture if len(scene.things) == 2 else np.full_like(picture, 255)
        for scene, picture in zip(scenes, real(scenes), strict=True)
    ]
    scores = attribute_scores(scenes, pictures)
    assert scores["one thing"] == 0
    assert scores["two things"] > 0.99


def test_scores_are_reported_with_their_baselines() -> None:
    scores = scene_scores(untrained_painter(), 20, ONCE)
    for name in (SEEN_PAIRS, UNSEEN_PAIRS):
        assert 0.2 < scores[name]["attributes without the caption"] < 0.6
    assert 0.8 < scores[UNSEEN_PAIRS]["attributes without the pair"] < 0.93
    assert "attributes without the pair" not in scores[SEEN_PAIRS]
    lines = as_results(scores, 20, ONCE)
    assert f"{100 * scores[UNSEEN_PAIRS]['colour and shape']:.2f} %" in list(lines.values())[-1]


@pytest.mark.parametrize("parts", [("test", "valid"), ("unseen", "unseen valid")])
def test_captions_to_choose_by_are_not_those_that_are_measured(parts: tuple[Part, Part]) -> None:
    one, other = (set(measured_captions(part, 300, seed=7)[1]) for part in parts)
    assert not one & other


def codes_that_give(back: Any) -> Codebook:
    config = SimpleNamespace(side=32)
    return cast(Codebook, SimpleNamespace(config=config, encode=lambda pixels: pixels, decode=back))


def test_a_codebook_is_scored_by_the_attributes_its_codes_keep() -> None:
    """No painter can draw better than that."""
    whole, nothing = (
        reconstructed_scenes(codes_that_give(back), 20)["scenes"]
        for back in (lambda pixels: pixels, lambda pixels: np.full_like(pixels, 255))
    )
    for name in (SEEN_PAIRS, UNSEEN_PAIRS):
        assert whole[name]["attributes"] == whole[name]["attributes of the originals"] > 0.99
        assert nothing[name]["attributes"] == 0
        assert nothing[name]["attributes of the originals"] > 0.99


def test_of_few_captioned_pictures_the_last_weights_are_kept() -> None:
    """They shall be remembered, and the loss on names that were held out rises while they are."""
    assert dalle(1_911).training.keep == "last"
    assert dalle(60_000).training.keep == "best"
