"""Opening a bundle, whatever kind of model it holds."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from qkv.checkpoint.bundle import load_bundle, read_config
from qkv.errors import UserError

Wanted = TypeVar("Wanted")


@dataclass(frozen=True)
class Kind:
    """Where the class is that opens such a bundle with `from_bundle(bundle)`, and what it can be asked for."""

    module: str
    name: str
    commands: tuple[str, ...]


KINDS = {
    "vit": Kind(
        "qkv.families.vit.product", "PictureClassifier", ("classify", "evaluate", "train vit --fine-tune")
    ),
    "codebook": Kind("qkv.families.dalle.codes", "Codes", ("train dalle", "evaluate")),
    "dalle": Kind("qkv.families.dalle.product", "Painter", ("draw", "evaluate")),
    "translator": Kind("qkv.families.translator.product", "Translator", ("translate", "evaluate")),
    "bert": Kind("qkv.families.bert.product", "Bert", ("fill", "embed", "similar", "train bert --fine-tune")),
    "bert-classifier": Kind(
        "qkv.families.bert.classifier", "TextClassifier", ("classify", "train bert --fine-tune")
    ),
    "gpt": Kind("qkv.families.gpt.product", "Generator", ("generate", "evaluate", "train gpt --fine-tune")),
    "gpt-classifier": Kind("qkv.families.gpt.classifier", "GPTClassifier", ("classify",)),
}


def load(path: str | Path) -> Any:
    """Open a bundle: `qkv.load("runs/en-de").translate("the cat danced")`."""
    folder = Path(path)
    bundle = load_bundle(folder)
    if bundle.kind not in KINDS:
        raise UserError(f"{folder} holds a {bundle.kind}, which this version of qkv does not know.")
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


def load_weights(model: torch.nn.Module, weights: Any, where: str) -> None:
    """Every fault at once: what is missing, what is left over, what has another shape."""
    own = model.state_dict()
    faults = [f"{name} is missing" for name in own if name not in weights]
    faults += [f"{name} is unknown" for name in weights if name not in own]
    faults += [
        f"{name} has shape {tuple(weights[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own
        if name in weights and weights[name].shape != own[name].shape
    ]
    if faults:
        raise UserError(f"{where}: the weights do not fit the config: {'; '.join(faults)}.")
    model.load_state_dict(weights)
