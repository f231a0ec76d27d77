"""The built-in scenes: what is in which part, what pictures and captions show."""

from itertools import islice
from random import Random

import numpy as np
import pytest

from qkv.data.worlds.scenes import (
    COLOURS,
    MIRRORED,
    SHAPES,
    UNSEEN,
    Part,
    Scene,
    Thing,
    all_captions,
    caption,
    coverage,
    distinct,
    draw_scene,
    measured_captions,
    scenes,
)

PARTS: tuple[Part, ...] = ("train", "valid", "test", "unseen", "unseen valid")
SMALL_RED = Thing(shape="circle", colour="red", size="small", texture="plain")
STRIPED_BLUE = Thing(shape="square", colour="blue", size=None, texture="striped")


def some(part: Part, count: int = 300) -> list[Scene]:
    return list(islice(scenes(part, 1), count))


def test_captions_in_both_languages() -> None:
    scene = Scene((SMALL_RED, STRIPED_BLUE), "above")
    assert caption(scene) == "a small red circle above a striped blue square"
    assert caption(scene, "es") == "un círculo rojo pequeño encima de un cuadrado azul a rayas"
    cross = Scene((Thing(shape="cross", colour="orange", size="small", texture="dotted"),))
    assert caption(cross) == "a small dotted orange cross"
    assert caption(cross, "es") == "una cruz naranja pequeña de lunares"
    assert (
        caption(Scene((Thing(shape="ring", colour="orange", size=None, texture="plain"),)))
        == "an orange ring"
    )


def test_different_scenes_have_different_captions() -> None:
    found = list(islice(distinct(scenes("train", 3)), 2_000))
    for language in ("en", "es"):
        assert len({caption(scene, language) for scene in found}) == len(found) == 2_000


def test_held_out_pairs_of_colour_and_shape_are_in_no_other_part() -> None:
    for part in ("train", "valid", "test"):
        pairs = {(thing.colour, thing.shape) for scene in some(part) for thing in scene.things}
        assert not pairs & UNSEEN
    assert all(any(thing.unseen for thing in scene.things) for scene in some("unseen"))


def test_held_out_pairs_are_made_of_colours_and_shapes_that_training_shows() -> None:
    shown = {(thing.colour, thing.shape) for scene in some("train", 3_000) for thing in scene.things}
    assert shown == {(colour, shape) for colour in COLOURS for shape in SHAPES} - UNSEEN
    assert {colour for colour, _ in UNSEEN} == set(COLOURS)


def test_no_caption_is_in_two_parts() -> None:
    parts = [set(some(part, 400)) for part in PARTS]
    for place, part in enumerate(parts):
        assert not any(part & other for other in parts[place + 1 :])


def test_a_scene_described_from_the_other_object_is_in_the_same_part() -> None:
    """Both captions have the same pictures."""
    for part in PARTS:
        for scene in some(part):
            if scene.relation in MIRRORED:
                assert Scene(scene.things[::-1], MIRRORED[scene.relation]).part == part


@pytest.mark.parametrize("part", ["valid", "test", "unseen", "unseen valid"])
def test_one_in_ten_measured_captions_has_one_thing_however_many_there_are(part: Part) -> None:
    for count in (10, 200, 500):
        found, captions = measured_captions(part, count, seed=7)
        single = [scene for scene in found if len(scene.things) == 1]
        assert len(single) == count / 10
        assert len(set(found) - set(single)) == count - len(single)
        assert {scene.part for scene in found} == {part}
        if count <= 200:
            assert len(set(captions)) == count  # none again before all the others


@pytest.mark.parametrize("things", [1, 2])
def test_measured_captions_are_in_both_languages(things: int) -> None:
    found, captions = measured_captions("test", 200, seed=7)
    pairs = [each for each in zip(found, captions, strict=True) if len(each[0].things) == things]
    english = sum(caption(scene) == text for scene, text in pairs)
    assert len(pairs) / 4 < english < len(pairs) * 3 / 4


def test_a_picture_is_a_function_of_its_scene_and_its_numbers() -> None:
    scene = Scene((SMALL_RED, STRIPED_BLUE), "left of")
    first, again, other = (draw_scene(scene, Random(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)


def test_attributes_that_the_caption_leaves_open_vary() -> None:
    scene = Scene((SMALL_RED, STRIPED_BLUE), "above")
    sizes = {draw_scene(scene, Random(seed)).scene.things[1].size for seed in range(20)}
    assert sizes == {"small", "large"}
    assert {draw_scene(scene, Random(seed)).scene.things[0].size for seed in range(20)} == {"small"}


@pytest.mark.parametrize("side", [32, 64])
def test_things_lie_inside_the_picture_and_apart(side: int) -> None:
    for number, scene in enumerate(some("train", 60)):
        pixels = draw_scene(scene, Random(number), side).pixels
        assert pixels.shape == (3, side, side)
        edge = np.concatenate([pixels[:, [0, -1]].ravel(), pixels[:, :, [0, -1]].ravel()])
        assert (edge == 255).all()


def test_edges_are_smooth_and_shapes_have_their_area() -> None:
    share = coverage("circle", 14)
    assert ((share > 0.05) & (share < 0.95)).any()
    assert abs(share.sum() - np.pi * 49) < 1


def test_every_word_is_in_the_captions_that_show_them_all() -> None:
    known = {word for text in all_captions() for word in text.split()}
    longest = max(len(text.split()) for text in all_captions())
    for part in ("train", "unseen"):
        for scene in some(part):
            for language in ("en", "es"):
                words = caption(scene, language).split()
                assert set(words) <= known
                assert len(words) <= longest


def test_a_side_that_cannot_be_drawn_is_rejected() -> None:
    with pytest.raises(ValueError, match="or a multiple of that"):
        draw_scene(Scene((SMALL_RED,)), Random(1), 40)
