"""Opening a bundle, whatever kind of model it holds."""

from pathlib import Path
from typing import Any, TypeVar

import torch

from qkv.checkpoint.bundle import load_bundle, read_config
from qkv.errors import UserError
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve

Wanted = TypeVar("Wanted")


def load(path: str | Path) -> Any:
    """Open a bundle: `qkv.load("runs/en-de").translate("the cat danced")`."""
    folder = Path(path)
    bundle = load_bundle(folder)
    return resolve(find_kind(bundle.kind, folder).product).from_bundle(bundle)


def load_for(path: str | Path, command: str, wanted: type[Wanted]) -> Wanted:
    """Open a bundle for a command. If the command does not accept its kind, the error names those that do."""
    kind = kind_of(path)
    if command not in kind.commands:
        raise UserError(wrong_kind(path, kind, command))
    product = load(path)
    if not isinstance(product, wanted):
        raise UserError(wrong_kind(path, kind, command))
    return product


def kind_of(path: str | Path) -> BundleKind:
    """The kind of the bundle in this folder, without opening its weights."""
    return find_kind(read_config(Path(path))["kind"], path)


def find_kind(name: str, path: str | Path) -> BundleKind:
    kinds = bundle_kinds()
    if name not in kinds:
        raise UserError(
            f"{path} holds a model of kind '{name}', which this version of qkv does not know. "
            f"It knows {', '.join(kinds)}."
        )
    return kinds[name]


def wrong_kind(path: str | Path, kind: BundleKind, command: str) -> str:
    others = " or ".join(f"`qkv {each}`" for each in kind.commands if each != command)
    return f"{path} holds a model of kind '{kind.name}'. It is for {others}, not for `qkv {command}`."


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
