"""What is known about an opened model: its kind, and its folder."""

import os
from pathlib import Path
from typing import Any, TypeVar

from qkv.errors import InputTypeError, type_name
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind
from qkv.families.loading import load_for
from qkv.runtime.model import Model
from qkv.runtime.running import Running, Warn

Wanted = TypeVar("Wanted")


def kind_of_product(product: Any) -> BundleKind:
    classes = {f"{each.__module__}:{each.__qualname__}" for each in type(product).__mro__}
    for kind in bundle_kinds().values():
        if kind.product in classes:
            return kind
    raise InputTypeError(f"the model is {type_name(product)}; expected a folder, or a model from `qkv.load`.")


def folder_of(product: Any) -> Path | None:
    """The bundle that a model was loaded from; None for a model that was built in memory."""
    opened = product._opened if isinstance(product, Model) else None
    return None if opened is None else opened.folder


def open_to_evaluate(model: Any, wanted: type[Wanted], running: Running, warn: Warn) -> tuple[Wanted, str]:
    """A model and its name: the folder, opened as `running` says, or the class of a model that is open already."""
    if isinstance(model, str | os.PathLike):
        folder = Path(model)
        return load_for(folder, "evaluate", wanted, running, warn), str(folder)
    if not isinstance(model, wanted):
        raise InputTypeError(f"the model is a {type(model).__name__}; expected a {wanted.__name__}.")
    folder_of_model = folder_of(model)
    return model, type(model).__name__ if folder_of_model is None else str(folder_of_model)


def open_for(model: Any, command: str, running: Running, warn: Warn) -> Any:
    """A model that a command accepts: opened from its folder, or open already."""
    if isinstance(model, str | os.PathLike):
        return load_for(Path(model), command, object, running, warn)
    kind = kind_of_product(model)
    if command not in kind.commands:
        raise InputTypeError(f"a {type(model).__name__} cannot {command}.")
    return model
