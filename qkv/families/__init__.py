"""One folder per model family. `FAMILIES` is the only list of them.

Other packages add families through the entry-point group `qkv.families`; docs/extending.md shows how.
"""

import importlib
from functools import cache
from importlib.metadata import entry_points

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training

FAMILIES = ("translator", "gpt", "bert", "vit", "dalle")
ENTRY_POINTS = "qkv.families"


@cache
def all_families() -> tuple[Family, ...]:
    """The families of qkv, then those of other installed packages."""
    own = [importlib.import_module(f"qkv.families.{name}").FAMILY for name in FAMILIES]
    others = [point.load() for point in entry_points(group=ENTRY_POINTS)]
    return (*own, *others)


def bundle_kinds() -> dict[str, BundleKind]:
    return {kind.name: kind for family in all_families() for kind in family.bundles}


def commands() -> dict[str, Command]:
    return {command.name: command for family in all_families() for command in family.commands}


def trainings() -> dict[str, Training]:
    return {training.name: training for family in all_families() for training in family.trainings}


def hub_formats() -> dict[str, HubFormat]:
    return {format.model_type: format for family in all_families() for format in family.hub}


def exports() -> dict[str, str]:
    """Bundle kind → reference to the mapping that writes it for transformers."""
    return {kind: mapping for family in all_families() for kind, mapping in family.exports}
