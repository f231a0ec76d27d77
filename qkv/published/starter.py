"""The translators of the optional package qkv-starter: a folder with a bundle for each language pair."""

import importlib.util
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import read_json
from qkv.errors import DataError
from qkv.published.pairs import Pair, code_of, pair_of, written

PACKAGE = "qkv_starter"
LICENSE = "CC-BY-4.0"


def starter_folder(pair: Pair) -> Path | None:
    package = package_folder()
    folder = None if package is None else package / written((code_of(pair[0]), code_of(pair[1])))
    return folder if folder is not None and (folder / "config.json").is_file() else None


def package_folder() -> Path | None:
    """The package is found, not imported: it holds data alone."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def starter_pairs() -> list[Pair]:
    package = package_folder()
    if package is None:
        return []
    names = sorted(each.parent.name for each in package.glob("*-*/config.json"))
    return [pair for pair in map(pair_of, names) if pair is not None]


def starter_scores(folder: Path) -> dict[str, dict[str, float]]:
    """BLEU and chrF by test set, as they were measured before the package was built."""
    try:
        found: Any = read_json(folder / "report.json").get("starter", {})
    except (DataError, AttributeError):
        return {}
    return {test: {name: score[name] for name in ("bleu", "chrf")} for test, score in found.items()}
