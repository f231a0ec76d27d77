"""One folder per model family. `FAMILIES` is the only list of them.

Other packages add families through the entry-point group `qkv.families`; docs/extending.md shows how.
"""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training
from qkv.families.shared_commands import SHARED

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FAMILIES = ("translator", "gpt", "bert", "vit", "dalle")
ENTRY_POINTS = "qkv.families"
RESERVED = ("train", "help", *(command.name for command in SHARED))  # commands that no family may define


@cache
def own_families() -> tuple[Family, ...]:
    return tuple(importlib.import_module(f"qkv.families.{name}").FAMILY for name in FAMILIES)


@cache
def all_families() -> tuple[Family, ...]:
    """The families of qkv, then those of other installed packages. One that cannot be used is left out with a warning."""
    from importlib.metadata import entry_points  # slow, and not needed to find what is our own

    families = list(own_families())
    taken = set().union(*map(names_of, families), (f"the command {name}" for name in RESERVED))
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (package_of(point), point.name)):
        try:
            family = load_family(point)
        except Exception as error:  # whatever another package does, qkv must start
            warn(point, f"cannot be loaded ({type(error).__name__}: {error})")
            continue
        if double := names_of(family) & taken:
            warn(point, f"defines {' and '.join(sorted(double))}, which already exists")
        else:
            families.append(family)
            taken |= names_of(family)
    return tuple(families)


def load_family(point: "EntryPoint") -> Family:
    family = point.load()
    if not isinstance(family, Family):
        raise TypeError(f"{point.value} is not a Family")
    return family


def names_of(family: Family) -> set[str]:
    """What no other family may define."""
    return {
        *(f"the bundle kind {each.name}" for each in family.bundles),
        *(f"the command {each.name}" for each in family.commands),
        *(f"the training {each.name}" for each in family.trainings),
        *(f"the hub format {each.model_type}" for each in family.hub),
        *(f"the export of {kind}" for kind, _ in family.exports),
        *(f"the import of {name} of CTranslate2" for name, _ in family.ctranslate2),
    }


def package_of(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.value


def warn(point: "EntryPoint", problem: str) -> None:
    import logging

    message = "the package %s %s. qkv runs without it: update it or uninstall it."
    logging.getLogger("qkv").warning(message, package_of(point), problem)


def bundle_kinds(families: Sequence[Family] | None = None) -> dict[str, BundleKind]:
    """The kinds of bundles of these families, by name; by default of all."""
    return {kind.name: kind for family in families or all_families() for kind in family.bundles}


def commands(families: Sequence[Family] | None = None) -> dict[str, Command]:
    """The commands of these families, by name; by default of all."""
    return {command.name: command for family in families or all_families() for command in family.commands}


def trainings() -> dict[str, Training]:
    return {training.name: training for family in all_families() for training in family.trainings}


def hub_formats() -> dict[str, HubFormat]:
    return {format.model_type: format for family in all_families() for format in family.hub}


def exports() -> dict[str, str]:
    """Bundle kind → reference to the mapping that writes it for transformers."""
    return {kind: mapping for family in all_families() for kind, mapping in family.exports}


def marian_reader() -> str:
    """Reference to the importer that reads models of Marian."""
    return next(family.marian for family in all_families() if family.marian is not None)


def ctranslate2_readers() -> dict[str, str]:
    """The name of a model in CTranslate2's files → reference to the importer that reads it."""
    return {name: importer for family in all_families() for name, importer in family.ctranslate2}
