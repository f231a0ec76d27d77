"""One folder per model family. `FAMILIES` is the only list of them.

Other packages add families through the entry-point group `qkv.families`; docs/extending.md shows how.
"""

import importlib
from collections.abc import Sequence
from functools import cache

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training

FAMILIES = ("translator", "gpt", "bert", "vit", "dalle")
ENTRY_POINTS = "qkv.families"


@cache
def own_families() -> tuple[Family, ...]:
    return tuple(importlib.import_module(f"qkv.families.{name}").FAMILY for name in FAMILIES)


@cache
def all_families() -> tuple[Family, ...]:
    """The families of qkv, then those of other installed packages."""
    from importlib.metadata import entry_points  # slow, and not needed to find what is our own

    return (*own_families(), *(point.load() for point in entry_points(group=ENTRY_POINTS)))


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
