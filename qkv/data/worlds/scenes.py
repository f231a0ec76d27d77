"""Built-in images with captions: one or two objects, each with a shape, a color, a size and a texture.

A scene is the meaning of a caption. What the caption leaves open is drawn at random: exact positions, and sizes that are not
mentioned. Some combinations of color and shape are in no training scene.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import cycle, islice, product
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Part = Literal["train", "valid", "test", "unseen", "unseen valid"]

COLOURS = {  # distinct hues, so that a reader can recognize them
    "red": (220, 30, 40),
    "orange": (250, 140, 20),
    "yellow": (240, 220, 40),
    "green": (40, 170, 50),
    "turquoise": (30, 200, 190),
    "blue": (40, 80, 220),
    "purple": (140, 40, 200),
    "pink": (240, 70, 170),
}
SIZES = {"small": 8, "large": 14}  # pixels of 32
TEXTURES = ("plain", "striped", "dotted")
RELATIONS = ("above", "below", "left of", "right of")
MIRRORED = {"below": "above", "right of": "left of"}  # the same image, described from the other object
ONE_IN = 10  # of the captions for evaluation has one object, because there are few of those
DARK = 0.4  # the brightness of stripes and dots
BACKGROUND = 255
SIDE = 32  # the side of an image is a multiple of this
GAP, MIN_DIFFERENCE = (
    2,
    3,
)  # pixels of 32: between two objects, and by which one direction must exceed the other
SAMPLES = 8  # samples per side of a pixel, for antialiasing


def _corner(x: Floats, y: Floats) -> Floats:
    return np.maximum(np.abs(x), np.abs(y))


SHAPES: dict[str, Callable[[Floats, Floats], Any]] = {  # whether a point is inside; x to the right and y down, from −1 to 1
    "circle": lambda x, y: x**2 + y**2 <= 1,
    "square": lambda x, y: _corner(x, y) <= 0.9,
    "triangle": lambda x, y: (y <= 0.95) & (np.abs(x) <= (y + 1) / 1.95),
    "diamond": lambda x, y: np.abs(x) + np.abs(y) <= 1,
    "cross": lambda x, y: (np.minimum(np.abs(x), np.abs(y)) <= 0.36) & (_corner(x, y) <= 1),
    "ring": lambda x, y: (x**2 + y**2 <= 1) & (x**2 + y**2 >= 0.25),
    "heart": lambda x, y: ((np.abs(x) - 0.48) ** 2 + (y + 0.42) ** 2 <= 0.27) | ((y >= -0.42) & (y + 0.1 <= 1.08 - 1.08 * np.abs(x))),
}  # fmt: skip

# Combinations that are not in the training part, to test generalization. Each colour is in one of them.
UNSEEN = frozenset(
    {
        ("red", "cross"),
        ("orange", "ring"),
        ("yellow", "heart"),
        ("green", "circle"),
        ("turquoise", "triangle"),
        ("blue", "diamond"),
        ("purple", "square"),
        ("pink", "circle"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Thing:
    shape: str
    colour: str
    size: str | None  # None: not mentioned
    texture: str

    @property
    def unseen(self) -> bool:
        return (self.colour, self.shape) in UNSEEN


@dataclass(frozen=True)
class Scene:
    """One object, or two with the relation of the first to the second."""

    things: tuple[Thing, ...]
    relation: str | None = None

    @property
    def unseen(self) -> bool:
        return any(thing.unseen for thing in self.things)

    @property
    def upright(self) -> "Scene":
        """The same scene, described with "above" or "left of"."""
        if self.relation in MIRRORED:
            return Scene(self.things[::-1], MIRRORED[self.relation])
        return self

    @property
    def part(self) -> Part:
        """The part of a scene. Both captions of the same image are in the same part."""
        same = self.upright
        key = "; ".join(
            [str(same.relation), *(" ".join(map(str, vars(thing).values())) for thing in same.things)]
        )
        number = int.from_bytes(blake2b(key.encode(), digest_size=4).digest(), "little") % 20
        if self.unseen:
            return "unseen valid" if number % 2 else "unseen"
        return "test" if number == 0 else "valid" if number == 1 else "train"


@dataclass(frozen=True, kw_only=True)
class Picture:
    scene: Scene  # with all sizes, including those that the caption does not mention
    pixels: Bytes  # (3, side, side)


def scenes(part: Part, seed: int, *, most_things: int = 2) -> Iterator[Scene]:
    """An endless stream of scenes of a part. A third of them have one object."""
    random = Random(f"{part} {seed}")
    while True:
        first = _thing(random)
        scene = Scene((first,))
        if most_things == 2 and random.random() < 2 / 3:
            scene = Scene((first, _thing(random)), random.choice(RELATIONS))
        if scene.part == part:
            yield scene


def _thing(random: Random) -> Thing:
    return Thing(
        shape=random.choice(tuple(SHAPES)),
        colour=random.choice(tuple(COLOURS)),
        size=random.choice((*SIZES, None)),
        texture=random.choice(TEXTURES),
    )


def single_things() -> list[Scene]:
    """All scenes with one object."""
    kinds = product(SHAPES, COLOURS, (*SIZES, None), TEXTURES)
    return [
        Scene((Thing(shape=shape, colour=colour, size=size, texture=texture),))
        for shape, colour, size, texture in kinds
    ]


def measured_captions(part: Part, count: int, seed: int) -> tuple[list[Scene], list[str]]:
    """Scenes of a part, and captions to evaluate a painter on. One in ten has one object.

    Scenes with two objects are all different, with the languages in turn. There are few scenes with one object, so each is
    used in every language, and repeated if more are needed.
    """
    single = [(scene, language) for scene in single_things() if scene.part == part for language in LANGUAGES]
    Random(f"{part} {seed} single").shuffle(single)
    double = distinct(scene for scene in scenes(part, seed) if scene.relation is not None)
    turns = zip(double, cycle(LANGUAGES), strict=False)
    chosen = [
        single[number // ONE_IN % len(single)] if number % ONE_IN == 0 else next(turns)
        for number in range(count)
    ]
    return [scene for scene, _ in chosen], [caption(*each) for each in chosen]


def distinct(found: Iterable[Scene]) -> Iterator[Scene]:
    """Skip repeated scenes."""
    seen: set[Scene] = set()
    for scene in found:
        if scene not in seen:
            seen.add(scene)
            yield scene


# From scenes to images


def draw_scene(scene: Scene, random: Random, side: int = SIDE) -> Picture:
    """Draw a scene. What it leaves open is chosen at random."""
    scale = _scale(side)
    things = tuple(
        Thing(
            shape=thing.shape,
            colour=thing.colour,
            size=thing.size or random.choice(tuple(SIZES)),
            texture=thing.texture,
        )
        for thing in scene.things
    )
    whole = Scene(things, scene.relation)
    pixels = np.full((3, side, side), float(BACKGROUND))
    for thing, (top, left) in zip(things, _places(whole, random, side), strict=True):
        assert thing.size is not None
        stamp = coverage(thing.shape, SIZES[thing.size] * scale)
        extent = len(stamp)
        here = pixels[:, top : top + extent, left : left + extent]
        colour = np.array(COLOURS[thing.colour], dtype=float)[:, None, None]
        paint = colour * texture(thing.texture, side)[top : top + extent, left : left + extent]
        here += stamp * (paint - here)
    return Picture(scene=whole, pixels=pixels.round().astype(np.uint8))


def _scale(side: int) -> int:
    if side < SIDE or side % SIDE:
        raise ValueError(f"the side must be {SIDE} or a multiple of that, not {side}")
    return side // SIDE


@cache
def coverage(shape: str, extent: int) -> Floats:
    """The share of each pixel that is inside the shape, for antialiasing. (extent, extent)"""
    points = (np.arange(extent * SAMPLES) + 0.5) / (extent * SAMPLES) * 2 - 1
    inside = SHAPES[shape](points[None, :], points[:, None])
    share: Floats = inside.reshape(extent, SAMPLES, extent, SAMPLES).mean((1, 3))
    return share


@cache
def texture(name: str, side: int) -> Floats:
    """The brightness of every pixel. The pattern is fixed to the image, not to the object."""
    unit = 2 * _scale(side)
    dark = np.arange(side) // unit % 2 == 1
    where = {
        "plain": np.zeros((side, side), dtype=bool),
        "striped": np.broadcast_to(dark[:, None], (side, side)),
        "dotted": dark[:, None] & dark[None, :],
    }[name]
    return np.where(where, DARK, 1.0)


def _places(scene: Scene, random: Random, side: int) -> list[tuple[int, int]]:
    """Top and left of each object, such that the relation is clearly visible."""
    extents = [SIZES[thing.size or ""] * _scale(side) for thing in scene.things]
    while True:
        places = [(random.randint(1, side - e - 1), random.randint(1, side - e - 1)) for e in extents]
        if scene.relation is None or _holds(scene.relation, places, extents, _scale(side)):
            return places


def _holds(relation: str, places: list[tuple[int, int]], extents: list[int], scale: int) -> bool:
    (top, left), (other_top, other_left) = places
    extent, other = extents
    down = 2 * other_top + other - 2 * top - extent  # twice the distance between the centres
    right = 2 * other_left + other - 2 * left - extent
    along, across = (down, right) if relation in ("above", "below") else (right, down)
    along = along if relation in ("above", "left of") else -along
    return along >= extent + other + 2 * GAP * scale and along >= abs(across) + 2 * MIN_DIFFERENCE * scale


# From scenes to captions

_SPANISH_NOUNS = {
    "circle": "un círculo",
    "square": "un cuadrado",
    "triangle": "un triángulo",
    "diamond": "un rombo",
    "cross": "una cruz",
    "ring": "un anillo",
    "heart": "un corazón",
}
_SPANISH_COLOURS = {  # masculine and feminine
    "red": ("rojo", "roja"),
    "orange": ("naranja", "naranja"),
    "yellow": ("amarillo", "amarilla"),
    "green": ("verde", "verde"),
    "turquoise": ("turquesa", "turquesa"),
    "blue": ("azul", "azul"),
    "purple": ("morado", "morada"),
    "pink": ("rosa", "rosa"),
}
_SPANISH_SIZES = {"small": ("pequeño", "pequeña"), "large": ("grande", "grande")}
_SPANISH_TEXTURES = {"striped": "a rayas", "dotted": "de lunares"}
_SPANISH_RELATIONS = {
    "above": "encima de",
    "below": "debajo de",
    "left of": "a la izquierda de",
    "right of": "a la derecha de",
}
LANGUAGES = {"en": "English", "es": "Spanish"}


def caption(scene: Scene, language: str = "en") -> str:
    """The caption of a scene. The texture "plain" is not mentioned."""
    thing, relations = (
        (_english, {name: name for name in RELATIONS}) if language == "en" else (_spanish, _SPANISH_RELATIONS)
    )
    first, *rest = (thing(each) for each in scene.things)
    return f"{first} {relations[scene.relation]} {rest[0]}" if scene.relation else first


def _english(thing: Thing) -> str:
    words = [thing.size, None if thing.texture == "plain" else thing.texture, thing.colour, thing.shape]
    phrase = " ".join(word for word in words if word)
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _spanish(thing: Thing) -> str:
    noun = _SPANISH_NOUNS[thing.shape]
    feminine = noun.startswith("una ")
    words = [noun, _SPANISH_COLOURS[thing.colour][feminine]]
    if thing.size:
        words.append(_SPANISH_SIZES[thing.size][feminine])
    if thing.texture != "plain":
        words.append(_SPANISH_TEXTURES[thing.texture])
    return " ".join(words)


def all_captions() -> list[str]:
    """Captions with every word and of the maximum length."""
    scenes = [Scene(one.things * 2, relation) for one in single_things() for relation in RELATIONS]
    return [caption(scene, language) for scene in scenes for language in LANGUAGES]


def pictures(part: Part, count: int, seed: int, side: int = SIDE, most_things: int = 2) -> Iterator[Picture]:
    """Images of a part. Each depends only on the seed and its number."""
    for number, scene in enumerate(islice(scenes(part, seed, most_things=most_things), count)):
        yield draw_scene(scene, Random(f"{part} {seed} {number}"), side)
