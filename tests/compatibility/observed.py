"""What a bundle does with a given input, as JSON. Shared by the script that made the fixtures and their test.

Nothing here depends on a random number generator: texts, music and pictures are decoded greedily, so that a later
version may draw its samples differently.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qkv.data.images import Form, read_picture
from qkv.families.dalle.options import DrawingOptions
from qkv.families.gpt.options import GenerationOptions
from qkv.families.translator.options import TranslationOptions

FORMAT_1 = Path(__file__).parent / "format-1"
GREEDY = GenerationOptions(max_new_tokens=24, temperature=0.0)
LIKELIEST = DrawingOptions(candidates=1, temperature=0.01, top_p=1e-6)
EVERY = 97  # one pixel in so many is compared

Given = dict[str, Any]
Observed = dict[str, Any]


def translations(product: Any, given: Given, _: Path) -> Observed:
    decoding = TranslationOptions(beam_size=2, target_language=given.get("language"), alignments=True)
    best = [answers[0] for answers in product._pipeline.hypotheses(given["texts"], decoding)]
    return {
        "texts": [each.text for each in best],
        "scores": [each.score for each in best],
        "confidences": [each.confidence for each in best],
        "alignments": [[list(link) for link in each.alignment or ()] for each in best],
    }


def continuation(product: Any, given: Given, _: Path) -> Observed:
    likelihoods = product.log_probabilities(given["text"])
    return {"text": product.generate(given["text"], GREEDY), "log_probability": float(likelihoods.sum())}


def music(product: Any, given: Given, _: Path) -> Observed:
    frames = [tuple(frame) for frame in given["frames"]]
    return {
        "frames": [list(frame) for frame in product.compose(frames, GREEDY)],
        "nats": product._nats_of_music([frames]),
    }


def classes(product: Any, given: Given, _: Path) -> Observed:
    return predictions(product, [tuple(texts) for texts in given["inputs"]])


def predictions(product: Any, inputs: list[tuple[str, ...]]) -> Observed:
    found = product.classify(inputs)
    return {
        "labels": [each.label for each in found if each.number is None],
        "probabilities": [dict(each.probabilities) for each in found],
        "numbers": [each.number for each in found],
    }


def picture_classes(product: Any, given: Given, folder: Path) -> Observed:
    return predictions(product, [(str(folder / given["picture"]),)])


def guesses(product: Any, given: Given, _: Path) -> Observed:
    return {"words": [[guess.word for guess in place] for place in product.fill(given["text"], top_k=2)]}


def embeddings(product: Any, given: Given, _: Path) -> Observed:
    return {"vectors": product.embed(given["texts"]).tolist(), "similarity": product.similar(*given["texts"])}


def words_and_embeddings(product: Any, given: Given, folder: Path) -> Observed:
    return guesses(product, given, folder) | embeddings(product, given, folder)


def codes(product: Any, given: Given, folder: Path) -> Observed:
    side = product.model.config.side
    pixels = read_picture(folder / given["picture"], Form(side, side, "colour"), fit=False)
    found = product.encode(np.stack([pixels]))
    return {"codes": found[0].tolist(), "pixels": some_pixels(product.decode(found)[0])}


def drawing(product: Any, given: Given, _: Path) -> Observed:
    drawn = product.draw(given["caption"], LIKELIEST)
    return {"likelihood": drawn.likelihood, "pixels": some_pixels(drawn.pixels)}


def some_pixels(pixels: Any) -> list[int]:
    return [int(value) for value in pixels.reshape(-1)[::EVERY]]


OBSERVERS: dict[str, Callable[[Any, Given, Path], Observed]] = {
    "translations": translations,
    "continuation": continuation,
    "music": music,
    "classes": classes,
    "picture classes": picture_classes,
    "embeddings": embeddings,
    "words and embeddings": words_and_embeddings,
    "codes": codes,
    "drawing": drawing,
}


def observe(product: Any, given: Given, folder: Path) -> Observed:
    """`folder` holds the pictures that the input names."""
    return OBSERVERS[given["observe"]](product, given, folder)


def read_expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return found
