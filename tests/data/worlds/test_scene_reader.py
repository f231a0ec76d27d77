"""The reader of scenes sees what is there, and nothing else."""

from random import Random

import numpy as np
import pytest
from PIL import Image, ImageFilter

from qkv.data.worlds.scene_reader import compare_with_scene, read_scene
from qkv.data.worlds.scenes import Picture, Scene, Thing, draw_scene, pictures

RED = Thing(shape="circle", colour="red", size="small", texture="plain")
BLUE = Thing(shape="square", colour="blue", size="large", texture="striped")


def share_right(shown: list[Picture], blur: float = 0.0) -> float:
    """Of all attributes."""
    verdicts: list[bool] = []
    for picture in shown:
        pixels = picture.pixels
        if blur:
            image = Image.fromarray(pixels.transpose(1, 2, 0).copy())
            pixels = np.asarray(image.filter(ImageFilter.GaussianBlur(blur))).transpose(2, 0, 1)
        verdicts += [
            each for kind in compare_with_scene(picture.scene, read_scene(pixels)).values() for each in kind
        ]
    return sum(verdicts) / len(verdicts)


@pytest.mark.parametrize("part", ["train", "unseen"])
@pytest.mark.parametrize("side", [32, 64])
def test_at_least_995_of_1000_attributes_are_read_off_real_scenes(part: str, side: int) -> None:
    assert share_right(list(pictures(part, 100, 3, side))) >= 0.995  # type: ignore[arg-type]


@pytest.mark.slow
def test_at_least_995_of_1000_attributes_are_read_off_five_thousand_scenes() -> None:
    assert share_right(list(pictures("train", 5_000, 4))) >= 0.995


def test_a_little_blur_hides_little() -> None:
    assert share_right(list(pictures("train", 60, 3)), blur=0.7) >= 0.98


def test_everything_of_a_scene_is_read() -> None:
    found = read_scene(draw_scene(Scene((RED, BLUE), "above"), Random(5)).pixels)
    assert [each.thing for each in found] == [BLUE, RED]  # the largest first


def test_an_empty_picture_shows_nothing_and_everything_is_wrong() -> None:
    blank = np.full((3, 32, 32), 255, dtype=np.uint8)
    assert read_scene(blank) == []
    verdicts = compare_with_scene(Scene((RED, BLUE), "above"), [])
    assert verdicts == {
        "number": [False],
        "shape": [False, False],
        "colour": [False, False],
        "size": [False, False],
        "texture": [False, False],
        "relation": [False],
    }


def test_noise_is_read_without_failing() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (3, 32, 32), dtype=np.uint8)
    found = read_scene(noise)
    assert not compare_with_scene(Scene((RED,)), found)["number"][0] or len(found) == 1


def test_each_mistake_is_seen_where_it_is() -> None:
    scene = Scene((RED, BLUE), "above")
    upside_down = read_scene(draw_scene(Scene((RED, BLUE), "below"), Random(5)).pixels)
    assert compare_with_scene(scene, upside_down)["relation"] == [False]
    assert all(compare_with_scene(scene, upside_down)["shape"])
    other = Thing(shape="heart", colour="green", size="small", texture="dotted")
    verdicts = compare_with_scene(
        scene, read_scene(draw_scene(Scene((other, BLUE), "above"), Random(5)).pixels)
    )
    assert verdicts["number"] == [True]
    assert [verdicts[kind] for kind in ("shape", "colour", "texture")] == [[False, True]] * 3
    assert verdicts["size"] == [True, True]


def test_a_thing_too_many_is_wrong_in_number_alone() -> None:
    found = read_scene(draw_scene(Scene((RED, BLUE), "left of"), Random(2)).pixels)
    verdicts = compare_with_scene(Scene((RED,)), found)
    assert verdicts == {
        "number": [False],
        "shape": [True],
        "colour": [True],
        "size": [True],
        "texture": [True],
    }
