"""Measures how many attributes of captions are right in images, as scene_reader.py reads them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal

import numpy as np

from qkv.data.images import Bytes
from qkv.data.worlds.scene_reader import compare_with_scene, read_scene
from qkv.data.worlds.scenes import (
    SHAPES,
    UNSEEN,
    Part,
    Scene,
    Thing,
    draw_scene,
    measured_captions,
    pictures,
)
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.options import DrawingOptions
from qkv.families.dalle.product import Drawing, ImageGenerator
from qkv.families.dalle.settings import MeasuredSettings

SEEN_PAIRS, UNSEEN_PAIRS = "seen combinations", "unseen combinations"
MeasuredPart = Literal["valid", "test"]
PARTS: dict[MeasuredPart, dict[str, Part]] = {  # choose settings on valid, and report scores on test
    "valid": {SEEN_PAIRS: "valid", UNSEEN_PAIRS: "unseen valid"},
    "test": {SEEN_PAIRS: "test", UNSEEN_PAIRS: "unseen"},
}
SEED = 7
ENOUGH = 200  # scenes of each part, for the report of a codebook and for baselines


def attribute_scores(scenes: Sequence[Scene], pictures: Sequence[Bytes]) -> dict[str, float]:
    """The share of right attributes: of all, of each kind, and of scenes with one and with two objects.

    "images completely right" is the share of images with all attributes right. "colour and shape" counts objects with
    both right; in scenes with unseen combinations, only those objects.
    """
    results_by_scene = [
        compare_with_scene(scene, read_scene(picture))
        for scene, picture in zip(scenes, pictures, strict=True)
    ]
    flat = [[each for kind in checks.values() for each in kind] for checks in results_by_scene]
    both = [
        pair
        for scene, checks in zip(scenes, results_by_scene, strict=True)
        for pair in colour_and_shape(scene, checks)
    ]
    by_kind: dict[str, list[bool]] = {}
    for checks in results_by_scene:
        for kind, values in checks.items():
            by_kind.setdefault(kind, []).extend(values)
    by_things = {
        name: [
            each
            for scene, own in zip(scenes, flat, strict=True)
            if len(scene.things) == count
            for each in own
        ]
        for count, name in ((1, "one thing"), (2, "two things"))
    }
    return {
        "attributes": share(each for own in flat for each in own),
        "images completely right": share(map(all, flat)),
        "colour and shape": share(both),
        **{name: share(values) for name, values in (by_kind | by_things).items() if values},
    }


def colour_and_shape(scene: Scene, checks: dict[str, list[bool]]) -> list[bool]:
    """For each object, whether both color and shape are right. In scenes with unseen combinations, only those count."""
    each = zip(scene.things, checks["colour"], checks["shape"], strict=True)
    return [colour and shape for thing, colour, shape in each if thing.unseen or not scene.unseen]


def share(values: Iterable[bool]) -> float:
    known = list(values)
    return round(sum(known) / max(1, len(known)), 4)


# Painters


def scene_scores(
    painter: ImageGenerator,
    count: int,
    how: DrawingOptions,
    part: MeasuredPart = "test",
    *,
    done: Callable[[int], None] = lambda number: None,
    keep: Callable[[str, list[str], list[list[Drawing]]], None] = lambda name, captions, drawings: None,
) -> dict[str, Any]:
    """The scores of the best candidates for seen and unseen combinations, and baselines."""
    side, found = painter.codebook.config.side, {}
    for name, own in PARTS[part].items():
        scenes, captions = measured_captions(own, count, SEED)
        drawings = painter._draw_each(captions, how, done=done)
        keep(name, captions, drawings)
        scores = attribute_scores(scenes, [each[0].pixels for each in drawings])
        found[name] = scores | baselines(scenes[:ENOUGH], side)
    return found


def baselines(scenes: Sequence[Scene], side: int) -> dict[str, float]:
    """Scores of two baselines: random training images, and perfect drawings except that unseen combinations get another
    shape."""
    others = [each.pixels for each in pictures("train", len(scenes), SEED, side)]
    found = {"attributes without the caption": attribute_scores(scenes, others)["attributes"]}
    if any(scene.unseen for scene in scenes):
        avoiding = [
            draw_scene(without_unseen(scene), Random(number), side).pixels
            for number, scene in enumerate(scenes)
        ]
        found["attributes without the pair"] = attribute_scores(scenes, avoiding)["attributes"]
    return found


def without_unseen(scene: Scene) -> Scene:
    """The scene with other shapes instead of unseen combinations."""
    return replace(scene, things=tuple(with_a_seen_shape(thing) for thing in scene.things))


def with_a_seen_shape(thing: Thing) -> Thing:
    seen = next(shape for shape in SHAPES if (thing.colour, shape) not in UNSEEN)
    return replace(thing, shape=seen) if thing.unseen else thing


def as_results(scores: dict[str, Any], count: int, how: DrawingOptions) -> dict[str, str]:
    """The scores as lines of text, the hardest last."""
    results = {
        f"attributes right, {name}": (
            f"{percent(each['attributes'])} ({percent(each['images completely right'])} of images completely right; "
            f"{percent(each['attributes without the caption'])} for random training images), "
            f"{count} captions, best of {how.candidates} by {how.ranking}"
        )
        for name, each in scores.items()
    }
    unseen = scores[UNSEEN_PAIRS]
    without = percent(unseen["attributes without the pair"])
    return {
        **results,
        "unseen pairs with both color and shape right": (
            f"{percent(unseen['colour and shape'])} ({without} of all attributes are right if only these pairs are wrong)"
        ),
    }


def percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def evaluate_scenes(painter: ImageGenerator, wanted: MeasuredSettings) -> dict[str, Any]:
    """Scores for the report of a run on built-in scenes."""
    how = DrawingOptions(candidates=wanted.measured_candidates)
    scores = scene_scores(painter, wanted.measured_captions, how)
    return {"scenes": scores, "results": as_results(scores, wanted.measured_captions, how)}


# Codebooks


def reconstructed_scenes(codes: Codebook, count: int = ENOUGH) -> dict[str, Any]:
    """The scores of reconstructed scenes, an upper bound for drawings.

    Uses the validation scenes, because a codebook may be chosen by these scores.
    """
    side, found = codes.config.side, {}
    for name, part in PARTS["valid"].items():
        scenes, _ = measured_captions(part, count, SEED)
        real = np.stack(
            [draw_scene(scene, Random(number), side).pixels for number, scene in enumerate(scenes)]
        )
        scores = attribute_scores(scenes, list(codes.decode(codes.encode(real))))
        found[name] = {
            **scores,
            "attributes of the originals": attribute_scores(scenes, list(real))["attributes"],
        }
    return {
        "scenes": found,
        "results": {
            f"attributes preserved, {name}": (
                f"{percent(each['attributes'])} ({percent(each['images completely right'])} of images completely right; "
                f"{percent(each['attributes of the originals'])} of the originals), {count} scenes"
            )
            for name, each in found.items()
        },
    }
