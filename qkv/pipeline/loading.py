"""Opening a bundle, whatever kind of model it holds."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from qkv.checkpoint.bundle import Bundle, load_bundle, read_config
from qkv.checkpoint.header import Shape, check_shapes
from qkv.errors import UserError

Wanted = TypeVar("Wanted")
Model = TypeVar("Model", bound=torch.nn.Module)


class HasShapes(Protocol):
    """A model's config."""

    def shapes(self) -> Iterable[tuple[str, Shape]]: ...  # of the weights, by name


Config = TypeVar("Config", bound=HasShapes)


@dataclass(frozen=True)
class Kind:
    """Where the class is that opens such a bundle with `from_bundle(bundle)`, and what it can be asked for."""

    module: str
    name: str
    commands: tuple[str, ...]


KINDS = {
    "vit": Kind(
        "qkv.pipeline.pictures", "PictureClassifier", ("classify", "evaluate", "train vit --fine-tune")
    ),
    "codebook": Kind("qkv.pipeline.codes", "Codes", ("train dalle", "evaluate")),
    "dalle": Kind("qkv.pipeline.painter", "Painter", ("draw", "evaluate")),
    "translator": Kind("qkv.pipeline.translator", "Translator", ("translate", "evaluate")),
    "bert": Kind("qkv.pipeline.bert", "Bert", ("fill", "embed", "similar", "train bert --fine-tune")),
    "bert-classifier": Kind(
        "qkv.pipeline.text_classifier", "TextClassifier", ("classify", "train bert --fine-tune")
    ),
    "gpt": Kind("qkv.pipeline.generator", "Generator", ("generate", "evaluate", "train gpt --fine-tune")),
    "gpt-classifier": Kind("qkv.pipeline.gpt_classifier", "GPTClassifier", ("classify",)),
}


def load(path: str | Path) -> Any:
    """Open a bundle: `qkv.load("runs/en-de").translate("the cat danced")`."""
    folder = Path(path)
    bundle = load_bundle(folder)
    if bundle.kind not in KINDS:
        raise UserError(f"{folder} holds a {bundle.kind[:40]}, which this version of qkv does not know.")
    kind = KINDS[bundle.kind]
    return getattr(importlib.import_module(kind.module), kind.name).from_bundle(bundle)


def load_for(path: str | Path, command: str, wanted: type[Wanted]) -> Wanted:
    """Open a bundle for a command; where its kind of model is for others, a sentence names those."""
    kind = read_config(Path(path))["kind"]
    if kind in KINDS and command not in KINDS[kind].commands:
        others = " or ".join(f"`qkv {each}`" for each in KINDS[kind].commands)
        raise UserError(f"{path} holds a {kind}, which is for {others}, not for `qkv {command}`.")
    found = load(path)
    if not isinstance(found, wanted):
        raise UserError(f"{path} holds a {kind}, which `qkv {command}` cannot use in this way.")
    return found


def build_model(build: Callable[[Config], Model], config: Config, bundle: Bundle) -> Model:
    """The model of a bundle. A config that does not fit the weights is an error before anything is built."""
    check_shapes(config.shapes(), bundle.shapes, str(bundle.folder))
    model = build(config)
    load_weights(model, bundle.weights, str(bundle.folder))
    return model


def load_weights(model: torch.nn.Module, weights: Any, where: str) -> None:
    """Every fault at once: what is missing, what is left over, what has another shape."""
    own = ((name, tuple(tensor.shape)) for name, tensor in model.state_dict().items())
    check_shapes(own, {name: tuple(tensor.shape) for name, tensor in weights.items()}, where)
    model.load_state_dict(weights)
