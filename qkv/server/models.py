"""The models of a server: opened from their folders, and found by language pair or by name."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qkv.errors import InputError, InputTypeError, QkvError
from qkv.families.bert.product import Bert
from qkv.families.gpt.product import LanguageModel
from qkv.families.loading import load
from qkv.families.translator.product import Translator
from qkv.runtime.model import Model
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.server.backend import Backend, TranslatorBackend
from qkv.server.languages import canonical, language_name, resolve_code

NAMED_PAIR = re.compile(r"([A-Za-z][\w-]*?)-([A-Za-z]\w*)=(.+)")
"""en-de=runs/model: a model with its languages."""


@dataclass(frozen=True)
class Leg:
    """One step of a translation: a model, and the target language if it has several."""

    backend: Backend
    target_language: str | None = None


@dataclass(frozen=True)
class Served:
    """A model with its name in the API."""

    name: str
    model: Any
    pairs: Mapping[tuple[str, str], Leg] = field(default_factory=dict)


@dataclass(frozen=True)
class Models:
    """All models of a server. A new object replaces this one when models are loaded again."""

    served: tuple[Served, ...] = ()
    pivot: str | None = None
    pairs: Mapping[tuple[str, str], Leg] = field(default_factory=dict)

    @classmethod
    def of(cls, served: Sequence[Served], pivot: str | None = None) -> "Models":
        pairs: dict[tuple[str, str], Leg] = {}
        for each in served:
            for pair, leg in each.pairs.items():
                pairs.setdefault(pair, leg)  # of two models for a pair, the first one wins
        if pivot is not None and pairs:
            known = {code for pair in pairs for code in pair}
            found = resolve_code(pivot, known)
            if found is None:
                raise InputError(
                    f"no model has the pivot language '{pivot}': choose from {', '.join(sorted(known))}."
                )
            pivot = found
        return cls(tuple(served), pivot, pairs)

    # Languages -----------------------------------------------------------------------------------------------

    @property
    def sources(self) -> list[str]:
        return sorted({source for source, _ in self.pairs}, key=language_name)

    @property
    def targets(self) -> list[str]:
        return sorted(
            {target for source in self.sources for target in self.targets_of(source)}, key=language_name
        )

    @property
    def languages(self) -> list[str]:
        return sorted({code for pair in self.pairs for code in pair}, key=language_name)

    def targets_of(self, source: str) -> list[str]:
        """All languages that a source can be translated into, also through the pivot."""
        direct = {target for one, target in self.pairs if one == source}
        if self.pivot in direct:
            direct |= {target for one, target in self.pairs if one == self.pivot}
        return sorted(direct - {source}, key=language_name)

    def route(self, source: str, target: str) -> tuple[Leg, ...] | None:
        """One model or two, or none if there is no way between these languages."""
        if (source, target) in self.pairs:
            return (self.pairs[source, target],)
        if self.pivot is not None and source != target:
            legs = self.pairs.get((source, self.pivot)), self.pairs.get((self.pivot, target))
            if legs[0] is not None and legs[1] is not None:
                return legs[0], legs[1]
        return None

    # Models by name ------------------------------------------------------------------------------------------

    def of_kind(self, kind: type[Any]) -> list[Served]:
        return [each for each in self.served if isinstance(each.model, kind)]

    def named(self, name: str, kinds: tuple[type[Any], ...]) -> Served | None:
        """The model of this name, if it is of one of these kinds."""
        return next(
            (each for each in self.served if each.name == name and isinstance(each.model, kinds)), None
        )


NO_MODELS = Models()


def open_models(
    given: Iterable[Any],
    pivot: str | None = None,
    running: Running = DEFAULT_RUNNING,
    warn: Warn = silent,
    opened: Callable[[Served], None] = lambda served: None,
) -> Models:
    """Open folders, and take models that are open already. `opened` is called after each."""
    found: list[Served] = []
    for each in given:
        served = serve_one(each, running, warn, {known.name for known in found})
        found.append(served)
        opened(served)
    if not found:
        raise InputError("there is no model to serve. Give at least one.")
    return Models.of(found, pivot)


def serve_one(given: Any, running: Running, warn: Warn, taken: set[str]) -> Served:
    if isinstance(given, Served):
        return given
    if isinstance(given, str | os.PathLike):
        pair, folder = named_pair(str(given))
        model, name = load(folder, running, warn=warn), folder.resolve().name
    elif isinstance(given, Model):
        pair, model = None, given
        name = given._opened.folder.resolve().name if given._opened else type(given).__name__.lower()
    else:
        raise InputTypeError(
            f"the model is {type(given).__name__}; expected a folder, or a model from `qkv.load`."
        )
    name = unused(name, taken)
    if isinstance(model, Translator):
        return Served(name, model, pairs_of(model, pair))
    if not isinstance(model, LanguageModel | Bert):
        raise QkvError(
            f"{name} is {model._what}, which cannot be served: give a translator, a GPT or a BERT."
        )
    return Served(name, model)


def named_pair(text: str) -> tuple[tuple[str, str] | None, Path]:
    match = NAMED_PAIR.fullmatch(text)
    if match is None or Path(text).exists():
        return None, Path(text)
    return (match[1], match[2]), Path(match[3])


def pairs_of(model: Translator, pair: tuple[str, str] | None) -> dict[tuple[str, str], Leg]:
    """The language pairs of a translator. A model with several target languages has several pairs."""
    languages = model._defaults.languages
    source, target = (canonical(code) for code in pair or (languages.source, languages.target))
    backend = TranslatorBackend(model)
    several = model.tokenizer.languages
    if not several or pair is not None:
        return {(source, target): Leg(backend)}
    return {(source, canonical(code)): Leg(backend, code) for code in several}


def unused(name: str, taken: set[str]) -> str:
    """The name, with a number if another model has it."""
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in candidates if each not in taken)
