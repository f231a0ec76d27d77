"""Reads a scene from an image by classical image analysis.

Objects are connected regions that are not white. The hue of a region is its color, the best template its shape and size,
the pattern of dark pixels its texture, and the direction between two centers their relation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from qkv.data.worlds.scenes import (
    COLOURS,
    SHAPES,
    SIDE,
    SIZES,
    TEXTURES,
    Bytes,
    Floats,
    Scene,
    Thing,
    coverage,
    texture,
)

INK = 0.4  # pixels this far from white belong to an object
SMALLEST = 10  # pixels of 32 × 32; smaller regions are noise
MARGIN = 2  # how many pixels a template may be off the centre of a region
FAINT = 0.3  # minimum share of the contrast of a pattern
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Found:
    """An object as it was read, and its center."""

    thing: Thing
    middle: tuple[float, float]  # down, right


def read_scene(pixels: Bytes) -> list[Found]:
    """The objects in an image (3, side, side), the largest first."""
    rgb = pixels.astype(float) / 255
    ink = 1 - rgb.min(axis=0)  # white has none
    hues = nearest_colours(rgb)
    masks = [part for island in islands(ink > INK) for part in split_touching(island, hues)]
    large = [mask for mask in masks if mask.sum() >= SMALLEST * (rgb.shape[1] // SIDE) ** 2]
    return [read_thing(rgb, ink, mask) for mask in sorted(large, key=np.sum, reverse=True)]


def islands(mask: Mask) -> list[Mask]:
    """Connected regions (4-connectivity)."""
    left, found = {(int(y), int(x)) for y, x in np.argwhere(mask)}, []
    while left:
        waiting, island = [left.pop()], np.zeros_like(mask)
        while waiting:
            y, x = waiting.pop()
            island[y, x] = True
            neighbours = left & {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)}
            left -= neighbours
            waiting += neighbours
        found.append(island)
    return found


def chroma(rgb: Floats) -> Floats:
    """The hue of a color: its channels scaled so that the smallest is 0 and the largest 1."""
    low, high = rgb.min(axis=0), rgb.max(axis=0)
    pure: Floats = (rgb - low) / np.maximum(high - low, 1e-6)
    return pure


PALETTE = np.stack([chroma(np.array(colour) / 255) for colour in COLOURS.values()])  # (colours, 3)


def nearest_colours(rgb: Floats) -> NDArray[np.int64]:
    """For each pixel, the index of the color with the nearest hue."""
    pure = chroma(rgb)
    return np.asarray(((PALETTE[:, :, None, None] - pure) ** 2).sum(axis=1).argmin(axis=0))


def split_touching(island: Mask, hues: NDArray[np.int64]) -> list[Mask]:
    """Split a region if two hues each cover at least a quarter of it: two objects that touch."""
    counts = np.bincount(hues[island], minlength=len(COLOURS))
    second, first = np.argsort(counts)[-2:]
    if counts[second] < counts.sum() / 4:
        return [island]
    return [island & (hues == first), island & (hues == second)]


def read_thing(rgb: Floats, ink: Floats, mask: Mask) -> Found:
    weights = (rgb.max(axis=0) - rgb.min(axis=0)) * mask
    mean = (chroma(rgb) * weights).sum(axis=(1, 2)) / max(1e-6, float(weights.sum()))
    colour = int(((PALETTE - mean) ** 2).sum(axis=1).argmin())
    name = list(COLOURS)[colour]
    full = 1 - min(COLOURS[name]) / 255  # the ink of a fully covered pixel
    shape, size, (top, left) = best_template(np.minimum(1, ink / full) * grow(mask))
    side = rgb.shape[1]
    stamp = coverage(shape, SIZES[size] * (side // SIDE))
    inside = np.zeros_like(ink)
    place = np.s_[top : top + len(stamp), left : left + len(stamp)]
    inside[place] = stamp
    brightness = rgb.max(axis=0) / (max(COLOURS[name]) / 255)
    pattern = best_texture(brightness, (inside > 0.95) & (ink > 0.6 * full))
    thing = Thing(shape=shape, colour=name, size=size, texture=pattern)
    return Found(thing=thing, middle=(top + len(stamp) / 2, left + len(stamp) / 2))


def grow(mask: Mask) -> Mask:
    """Add the neighboring pixels, where the edge is antialiased."""
    wide = np.pad(mask, 1)
    ways = [np.s_[0:-2, 1:-1], np.s_[2:, 1:-1], np.s_[1:-1, 0:-2], np.s_[1:-1, 2:]]
    return mask | np.logical_or.reduce([wide[way] for way in ways])


def best_template(share: Floats) -> tuple[str, str, tuple[int, int]]:
    """Shape, size and position of the template that is closest to the coverage of the pixels."""
    side = len(share)
    scale, middle = side // SIDE, middle_of(share)
    best: tuple[float, str, str, tuple[int, int]] | None = None
    for shape in SHAPES:
        for size, extent in SIZES.items():
            stamp, own = template(shape, extent * scale)
            most = side - len(stamp)
            top, left = (
                min(most, max(0, round(at - each) - MARGIN * scale))
                for at, each in zip(middle, own, strict=True)
            )
            reach = len(stamp) + 2 * MARGIN * scale
            windows = sliding_window_view(share[top : top + reach, left : left + reach], stamp.shape)
            # (share − template)², without the term that is the same for all templates
            missed = float((stamp**2).sum()) - 2 * np.tensordot(windows, stamp, 2)  # (down, across)
            down, right = np.unravel_index(missed.argmin(), missed.shape)
            if best is None or missed[down, right] < best[0]:
                best = float(missed[down, right]), shape, size, (top + int(down), left + int(right))
    assert best is not None
    return best[1:]


@cache
def template(shape: str, extent: int) -> tuple[Floats, tuple[float, float]]:
    stamp = coverage(shape, extent)
    return stamp, middle_of(stamp)


def middle_of(share: Floats) -> tuple[float, float]:
    """The center of mass, as (down, right)."""
    total, places = max(1e-6, float(share.sum())), np.arange(len(share)) + 0.5
    return float((share.sum(axis=1) * places).sum()) / total, float(
        (share.sum(axis=0) * places).sum()
    ) / total


def best_texture(brightness: Floats, inside: Mask) -> str:
    """The pattern that explains most of the brightness; plain if its contrast is too faint."""
    values = brightness[inside]
    best, left, contrast = "plain", np.inf, 0.0
    for name in TEXTURES:
        pattern = texture(name, len(brightness))[inside]
        spread = float(pattern.var()) if len(pattern) else 0.0
        if not spread:
            continue
        slope = float(((values - values.mean()) * (pattern - pattern.mean())).mean()) / spread
        if float(values.var()) - slope**2 * spread < left:
            best, left, contrast = name, float(values.var()) - slope**2 * spread, slope
    return best if contrast > FAINT else "plain"


# Comparing


def relation_of(first: Found, second: Found) -> str:
    down, right = (there - here for here, there in zip(first.middle, second.middle, strict=True))
    if abs(down) >= abs(right):
        return "above" if down > 0 else "below"
    return "left of" if right > 0 else "right of"


def compare_with_scene(scene: Scene, found: Sequence[Found]) -> dict[str, list[bool]]:
    """For each kind of attribute, which ones of the scene are right in an image.

    Objects are assigned in the best way. A missing object is wrong in all attributes.
    """
    count = len(scene.things)
    best: dict[str, list[bool]] = {}
    for chosen in permutations([*found, *[None] * count], count):
        verdicts: dict[str, list[bool]] = {"number": [len(found) == count]}
        for thing, seen in zip(scene.things, chosen, strict=True):
            for kind in ("shape", "colour", "size", "texture"):
                wanted = getattr(thing, kind)
                if wanted is not None:
                    right = seen is not None and getattr(seen.thing, kind) == wanted
                    verdicts.setdefault(kind, []).append(right)
        if scene.relation is not None:
            first, second = chosen
            holds = first is not None and second is not None and relation_of(first, second) == scene.relation
            verdicts["relation"] = [holds]
        if sum(map(sum, verdicts.values())) > sum(map(sum, best.values())) or not best:
            best = verdicts
    return best
