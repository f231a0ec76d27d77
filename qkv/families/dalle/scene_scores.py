"""How much of what captions say is in pictures, as a reader sees them (scene_reader.py): drawn ones, and reconstructions."""

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
from qkv.families.dalle.codes import Codes
from qkv.families.dalle.options import DrawingOptions
from qkv.families.dalle.product import Drawing, Painter
from qkv.families.dalle.settings import MeasuredSettings

SEEN_PAIRS, UNSEEN_PAIRS = "seen combinations", "unseen combinations"
MeasuredPart = Literal["valid", "test"]
PARTS: dict[MeasuredPart, dict[str, Part]] = {  # settings are chosen on the first, and measured on the second
    "valid": {SEEN_PAIRS: "valid", UNSEEN_PAIRS: "unseen valid"},
    "test": {SEEN_PAIRS: "test", UNSEEN_PAIRS: "unseen"},
}
SEED = 7
ENOUGH = 200  # scenes of each part, for a codebook's report and for what can be had without success


def attribute_scores(scenes: Sequence[Scene], pictures: Sequence[Bytes]) -> dict[str, float]:
    """The share of attributes that are as said: of all together, of each kind, and of scenes of one thing and of two.

    "whole pictures" have nothing amiss. "colour and shape" counts things of which both are right; in scenes with pairs
    that training never shows, those things alone.
    """
    verdicts = [
        compare_with_scene(scene, read_scene(picture))
        for scene, picture in zip(scenes, pictures, strict=True)
    ]
    flat = [[each for kind in verdict.values() for each in kind] for verdict in verdicts]
    both = [pair for scene, verdict in zip(scenes, verdicts, strict=True) for pair in pairs(scene, verdict)]
    by_kind: dict[str, list[bool]] = {}
    for verdict in verdicts:
        for kind, values in verdict.items():
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
        "whole pictures": share(map(all, flat)),
        "colour and shape": share(both),
        **{name: share(values) for name, values in (by_kind | by_things).items() if values},
    }


def pairs(scene: Scene, verdict: dict[str, list[bool]]) -> list[bool]:
    """Of each thing, are colour and shape both right? Of a scene with unseen pairs, those alone count."""
    each = zip(scene.things, verdict["colour"], verdict["shape"], strict=True)
    return [colour and shape for thing, colour, shape in each if thing.unseen or not scene.unseen]


def share(values: Iterable[bool]) -> float:
    known = list(values)
    return round(sum(known) / max(1, len(known)), 4)


# Painters


def scene_scores(
    painter: Painter,
    count: int,
    how: DrawingOptions,
    part: MeasuredPart = "test",
    *,
    done: Callable[[int], None] = lambda number: None,
    keep: Callable[[str, list[str], list[list[Drawing]]], None] = lambda name, captions, drawings: None,
) -> dict[str, Any]:
    """Of seen and of unseen combinations, what the best candidates show, and what can be had without success."""
    side, found = painter.codes.model.config.side, {}
    for name, own in PARTS[part].items():
        scenes, captions = measured_captions(own, count, SEED)
        drawings = painter.draw_each(captions, how, done=done)
        keep(name, captions, drawings)
        scores = attribute_scores(scenes, [each[0].pixels for each in drawings])
        found[name] = scores | floors(scenes[:ENOUGH], side)
    return found


def floors(scenes: Sequence[Scene], side: int) -> dict[str, float]:
    """Attributes that a painter gets right who does not look at the caption, and shows real training pictures instead;
    and who draws all as it is said, but for an unseen pair its colour with a shape that training shows it with."""
    others = [each.pixels for each in pictures("train", len(scenes), SEED, side)]
    found = {"attributes without the caption": attribute_scores(scenes, others)["attributes"]}
    if any(scene.unseen for scene in scenes):
        avoiding = [
            draw_scene(avoided(scene), Random(number), side).pixels for number, scene in enumerate(scenes)
        ]
        found["attributes without the pair"] = attribute_scores(scenes, avoiding)["attributes"]
    return found


def avoided(scene: Scene) -> Scene:
    """The scene with other shapes where training never shows a pair."""
    return replace(scene, things=tuple(with_a_seen_shape(thing) for thing in scene.things))


def with_a_seen_shape(thing: Thing) -> Thing:
    seen = next(shape for shape in SHAPES if (thing.colour, shape) not in UNSEEN)
    return replace(thing, shape=seen) if thing.unseen else thing


def as_results(scores: dict[str, Any], count: int, how: DrawingOptions) -> dict[str, str]:
    """Lines for people, the hardest last."""
    results = {
        f"attributes right, {name}": (
            f"{percent(each['attributes'])} ({percent(each['whole pictures'])} of pictures wholly; "
            f"{percent(each['attributes without the caption'])} for training pictures that ignore the caption), "
            f"{count} captions, best of {how.candidates} by {how.ranking}"
        )
        for name, each in scores.items()
    }
    unseen = scores[UNSEEN_PAIRS]
    without = percent(unseen["attributes without the pair"])
    return {
        **results,
        "unseen pairs with both colour and shape right": (
            f"{percent(unseen['colour and shape'])} (who gets none right, and all else, has {without} of the attributes)"
        ),
    }


def percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def measured_on_scenes(painter: Painter, wanted: MeasuredSettings) -> dict[str, Any]:
    """For the report of a run on built-in scenes."""
    how = DrawingOptions(candidates=wanted.measured_candidates)
    scores = scene_scores(painter, wanted.measured_captions, how)
    return {"scenes": scores, "results": as_results(scores, wanted.measured_captions, how)}


# Codebooks


def reconstructed_scenes(codes: Codes, count: int = ENOUGH) -> dict[str, Any]:
    """What is read off scenes that have been codes: no painter can draw better than its codebook allows.

    Of the scenes that settings are chosen on: a codebook may be chosen by this.
    """
    side, found = codes.model.config.side, {}
    for name, part in PARTS["valid"].items():
        scenes, _ = measured_captions(part, count, SEED)
        real = np.stack(
            [draw_scene(scene, Random(number), side).pixels for number, scene in enumerate(scenes)]
        )
        scores = attribute_scores(scenes, list(codes.decode(codes.encode(real))))
        found[name] = {
            **scores,
            "attributes of the pictures themselves": attribute_scores(scenes, list(real))["attributes"],
        }
    return {
        "scenes": found,
        "results": {
            f"attributes left, {name}": (
                f"{percent(each['attributes'])} ({percent(each['whole pictures'])} of pictures wholly; of the pictures "
                f"themselves {percent(each['attributes of the pictures themselves'])}), {count} scenes"
            )
            for name, each in found.items()
        },
    }
