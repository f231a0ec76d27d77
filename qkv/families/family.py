"""Family: everything qkv knows about one family of models, in one record.

A record names modules as "package.module:attribute" and imports none of them. `qkv --help` can read all records in
milliseconds, and each part of a family is imported only when it is used.
"""

import importlib
from dataclasses import dataclass
from typing import Any


def resolve(reference: str) -> Any:
    """Import what a reference such as "qkv.families.gpt.product:LanguageModel" names."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of `qkv`: the words a user types, one line of help, and the function that runs it."""

    name: str
    summary: str
    run: str
    """Reference to `main(arguments: list[str]) -> None`."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What `qkv train NAME` offers."""

    name: str
    summary: str
    trainables: str
    """Reference to a tuple of `qkv.training.trainable.Trainable`; the options given decide which one runs."""


@dataclass(frozen=True, kw_only=True)
class BundleKind:
    """A kind of bundle: the word in `config.json`, the class that opens it, and what the model can do."""

    name: str
    product: str
    """Reference to a class that derives from `qkv.Model`, with `from_bundle(bundle, running, warn)`, `to_bundle(folder)` and `info()`."""
    commands: tuple[str, ...]
    """Commands that accept this kind, the most natural one first."""
    evaluate: str | None = None
    """Reference to `main(arguments)` of `qkv evaluate` for this kind."""
    evaluate_options: tuple[str, ...] = ()
    """Options of `qkv evaluate` that belong to this kind alone, such as --text. `qkv evaluate --text --help` shows its help."""
    evaluator: str | None = None
    """Reference to an `Evaluator` (qkv/evaluation/evaluator.py): what `qkv.evaluate` does with this kind."""
    trace: str | None = None
    """Reference to `trace(product, text, experiment, *, beam, longest)`, which records every intermediate value."""
    recompute: str | None = None
    """Reference to `recompute(trace, weights)`, the explorer's independent NumPy computation of the same values."""
    examples: tuple[str, ...] = ()
    """Inputs that the explorer offers first."""
    ctranslate2: str | None = None
    """Reference to the exporter for CTranslate2."""


@dataclass(frozen=True, kw_only=True)
class HubFormat:
    """A kind of published model, by the `model_type` in its config.json."""

    model_type: str
    classes: tuple[str, ...]
    """Classes of transformers that compute what ours do. Other heads on the same weights mean something else."""
    mapping: str
    """Reference to a class with the interface of `qkv.hub.mapping.HubMapping`."""
    translates: bool = False
    """Can the importer choose a target language?"""


@dataclass(frozen=True, kw_only=True)
class Family:
    name: str
    bundles: tuple[BundleKind, ...]
    trainings: tuple[Training, ...] = ()
    commands: tuple[Command, ...] = ()
    hub: tuple[HubFormat, ...] = ()
    exports: tuple[tuple[str, str], ...] = ()
    """Pairs of a bundle's kind and a reference to the mapping that writes it for transformers."""
    marian: str | None = None
    """Reference to the importer that reads models of Marian."""
    ctranslate2: tuple[tuple[str, str], ...] = ()
    """Pairs of the name of a model in CTranslate2's files and a reference to the importer that reads it."""
