"""How much of what captions say is in the pictures that a painter draws, as a reader sees them (scene_reader.py)."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from qkv.data.images import Bytes
from qkv.data.worlds.scene_reader import judged, read_scene
from qkv.data.worlds.scenes import LANGUAGES, Part, Scene, caption, distinct
from qkv.pipeline.drawing import Drawn
from qkv.pipeline.painter import Drawing, Painter

PARTS: dict[Part, str] = {"test": "seen combinations", "unseen": "unseen combinations"}
IN_REPORT = {"captions": 200, "candidates": 8}  # about a minute on two cores


def attribute_scores(scenes: Sequence[Scene], pictures: Sequence[Bytes]) -> dict[str, float]:
    """The share of attributes that are as said: of each kind, of all together, and of pictures with none amiss."""
    right: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    whole = 0
    for scene, picture in zip(scenes, pictures, strict=True):
        verdicts = judged(scene, read_scene(picture))
        whole += all(all(each) for each in verdicts.values())
        for kind, each in verdicts.items():
            right[kind] += sum(each)
            all_of[kind] += len(each)
    shares = {kind: round(right[kind] / all_of[kind], 4) for kind in all_of}
    return {
        "attributes": round(right.total() / max(1, all_of.total()), 4),
        "whole pictures": round(whole / max(1, len(scenes)), 4),
        **shares,
    }


def test_scenes(part: Part, count: int) -> tuple[list[Scene], list[str]]:
    """Scenes that no training part has, and a caption of each, in every language in turn."""
    scenes, languages = distinct(part, count, seed=7), list(LANGUAGES)
    return scenes, [caption(scene, languages[number % len(languages)]) for number, scene in enumerate(scenes)]


def scene_scores(
    painter: Painter,
    count: int,
    how: Drawn,
    *,
    done: Callable[[int], None] = lambda number: None,
    keep: Callable[[str, list[str], list[list[Drawing]]], None] = lambda name, captions, drawings: None,
) -> dict[str, Any]:
    """Of both parts, what the best candidates show."""
    found: dict[str, Any] = {}
    for part, name in PARTS.items():
        scenes, captions = test_scenes(part, count)
        drawings = painter.draw_each(captions, how, done=done)
        keep(name, captions, drawings)
        found[name] = attribute_scores(scenes, [each[0].pixels for each in drawings])
    return found


def as_results(scores: dict[str, Any], count: int, how: Drawn) -> dict[str, str]:
    return {
        f"attributes right, {name}": (
            f"{100 * each['attributes']:.2f} % ({100 * each['whole pictures']:.1f} % of pictures wholly), {count} captions, "
            f"best of {how.candidates} by {how.ranking}"
        )
        for name, each in scores.items()
    }


def measured_on_scenes(painter: Painter) -> dict[str, Any]:
    """For the report of a run on built-in scenes."""
    how = Drawn(candidates=IN_REPORT["candidates"])
    scores = scene_scores(painter, IN_REPORT["captions"], how)
    return {"scenes": {"how": IN_REPORT, **scores}, "results": as_results(scores, IN_REPORT["captions"], how)}
