"""What a picture of a scene shows, by plain image analysis: no network, nothing learned.

Things are islands that are not white. The hue of an island is its colour; the template that covers it best is its
shape and size; the pattern of dark places inside is its texture; the way from middle to middle is the relation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
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

INK = 0.4  # what is this far from white belongs to a thing
SMALLEST = 10  # pixels of 32 × 32: what is smaller is a stain
MARGIN = 2  # pixels by which a template may lie beside the middle of an island
FAINT = 0.3  # of the contrast that a pattern should have: with less there is none
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A thing as it was read, and where its middle is."""

    thing: Thing
    middle: tuple[float, float]  # down, right


def read_scene(pixels: Bytes) -> list[Found]:
    """The things in a picture (3, side, side), the largest first."""
    rgb = pixels.astype(float) / 255
    ink = 1 - rgb.min(axis=0)  # white has none
    hues = nearest_colours(rgb)
    masks = [part for island in islands(ink > INK) for part in parted(island, hues)]
    large = [mask for mask in masks if mask.sum() >= SMALLEST * (rgb.shape[1] // SIDE) ** 2]
    return [read_thing(rgb, ink, mask) for mask in sorted(large, key=np.sum, reverse=True)]


def islands(mask: Mask) -> list[Mask]:
    """Places that hang together, side by side or one above the other."""
    left, found = {(int(y), int(x)) for y, x in np.argwhere(mask)}, []
    while left:
        waiting, island = [left.pop()], np.zeros_like(mask)
        while waiting:
            y, x = waiting.pop()
            island[y, x] = True
            beside = left & {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)}
            left -= beside
            waiting += beside
        found.append(island)
    return found


def chroma(rgb: Floats) -> Floats:
    """A colour without its brightness and without the white in it: the least channel 0, the largest 1."""
    low, high = rgb.min(axis=0), rgb.max(axis=0)
    pure: Floats = (rgb - low) / np.maximum(high - low, 1e-6)
    return pure


PALETTE = np.stack([chroma(np.array(colour) / 255) for colour in COLOURS.values()])  # (colours, 3)


def nearest_colours(rgb: Floats) -> NDArray[np.int64]:
    """The number of the colour whose hue is nearest, of every pixel."""
    pure = chroma(rgb)
    return np.asarray(((PALETTE[:, :, None, None] - pure) ** 2).sum(axis=1).argmin(axis=0))


def parted(island: Mask, hues: NDArray[np.int64]) -> list[Mask]:
    """One thing, or two that touch: where two hues each have a quarter of the island or more."""
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
    full = 1 - min(COLOURS[name]) / 255  # the ink of a pixel that is all inside
    shape, size, (top, left) = best_template(np.minimum(1, ink / full) * grown(mask))
    side = rgb.shape[1]
    stamp = coverage(shape, SIZES[size] * (side // SIDE))
    inside = np.zeros_like(ink)
    place = np.s_[top : top + len(stamp), left : left + len(stamp)]
    inside[place] = stamp
    brightness = rgb.max(axis=0) / (max(COLOURS[name]) / 255)
    pattern = best_texture(brightness, (inside > 0.95) & (ink > 0.6 * full))
    thing = Thing(shape=shape, colour=name, size=size, texture=pattern)
    return Found(thing=thing, middle=(top + len(stamp) / 2, left + len(stamp) / 2))


def grown(mask: Mask) -> Mask:
    """With the pixels around it, where its edge fades."""
    wide = np.pad(mask, 1)
    ways = [np.s_[0:-2, 1:-1], np.s_[2:, 1:-1], np.s_[1:-1, 0:-2], np.s_[1:-1, 2:]]
    return mask | np.logical_or.reduce([wide[way] for way in ways])


def best_template(share: Floats) -> tuple[str, str, tuple[int, int]]:
    """Shape, size and place of the template from which the covered share of every pixel differs least."""
    side = len(share)
    scale, total = side // SIDE, max(1e-6, float(share.sum()))
    middle = [float((share.sum(axis=1 - axis) * (np.arange(side) + 0.5)).sum()) / total for axis in (0, 1)]
    best: tuple[float, str, str, tuple[int, int]] | None = None
    for shape in SHAPES:
        for size, extent in SIZES.items():
            stamp = coverage(shape, extent * scale)
            own = [float((stamp.sum(axis=1 - axis) * (np.arange(len(stamp)) + 0.5)).sum()) for axis in (0, 1)]
            starts = [round(at - each / float(stamp.sum())) for at, each in zip(middle, own, strict=True)]
            for top, left in neighbours(starts, side - len(stamp)):
                part = share[top : top + len(stamp), left : left + len(stamp)]
                # (share − template)², of which all but this is the same for every template
                missed = float((stamp * (stamp - 2 * part)).sum())
                if best is None or missed < best[0]:
                    best = missed, shape, size, (top, left)
    assert best is not None
    return best[1:]


def neighbours(starts: Sequence[int], most: int) -> list[tuple[int, int]]:
    around = range(-MARGIN, MARGIN + 1)
    rows, columns = (sorted({min(most, max(0, start + step)) for step in around}) for start in starts)
    return [(top, left) for top in rows for left in columns]


def best_texture(brightness: Floats, inside: Mask) -> str:
    """The pattern that explains most of what is dark and bright; it may be washed out, but not nearly gone."""
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


def judged(scene: Scene, found: Sequence[Found]) -> dict[str, list[bool]]:
    """Of all that a scene says, what is so in a picture: a list for each kind of attribute.

    Which thing is which is taken as it fits best. What is missing is wrong in every attribute.
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
