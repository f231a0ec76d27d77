"""A trace of a ViT: an image as a sequence of patches, with every intermediate value."""

from typing import Any

import torch

from qkv.configs import to_dict
from qkv.core.tape import Tape
from qkv.data.images import picture_from
from qkv.data.python_rows import is_path
from qkv.errors import QkvError
from qkv.families.vit.product import ImageClassifier
from qkv.tracing.experiments import Experiment, StackLocation, apply_experiment
from qkv.tracing.trace import Side, Trace, choices_of, without_batch

MOST_PATCHES = 100  # of an image that can be traced


@torch.inference_mode()
def trace_vit(
    classifier: ImageClassifier,
    text: Any,
    experiment: Experiment = Experiment(),  # noqa: B008
    *,
    beam: int | None = None,
    longest: int | None = None,
) -> Trace:
    """Trace an image as a sequence of patches. The class token's row, before them, predicts the class."""
    config = classifier.config
    if config.patches > MOST_PATCHES:
        raise QkvError(
            f"this model's images have {config.patches} patches; at most {MOST_PATCHES} can be traced."
        )
    image = picture_from(text, classifier._form, fit=True, name="the image")
    pixels = torch.tensor(image)[None].float() / 127.5 - 1
    model, tape = (
        apply_experiment(classifier.model, experiment, {"stack": StackLocation("stack", False)}).eval(),
        Tape(),
    )
    logits = model(pixels, tape)
    classes = classifier.classes
    best = int(logits[0].argmax())
    across = config.width // config.patch
    names = ["class", *(f"{place // across + 1}·{place % across + 1}" for place in range(config.patches))]
    arrays = {
        f"stack.{name}" if name in ("patches", "tokens", "embedded") else name: each
        for name, each in without_batch(tape).items()
    }
    arrays["stack.positions"] = model.positions(0, len(names)).float().numpy()
    return Trace(
        kind="vit",
        text=str(text) if is_path(text) else "image",
        output=classes[best],
        config={**to_dict(config), "vocab_size": len(classes), "positions": "learned"},
        sides=(
            Side(
                name="stack",
                tokens=tuple(names),
                ids=(),
                stack=to_dict(config.stack),
                weights="stack",
                causal=False,
            ),
        ),
        arrays=arrays,
        weights=model.state_dict(),
        choices=choices_of(logits, [best], lambda ids: [classes[each] for each in ids]),
        picture=pixels[0].numpy(),
        output_weight="head.weight",
        output_bias="head.bias",
        experiment=experiment,
    )
