"""`--config`: read the options in a file, by name. Which of them exist is for `expanding.py` to say."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.cli.conventions import PREFIX
from qkv.errors import DataError, MissingExtraError, QkvError

RECIPE = "recipe"  # a name, or a table of settings


@dataclass(frozen=True, kw_only=True)
class Source:
    """Options from a file or from the environment."""

    origin: str
    values: Mapping[str, Any]
    """By name, with hyphens: learning-rate."""
    is_environment: bool = False

    def label(self, name: str) -> str:
        """The name of an option in a message."""
        return variable(name) if self.is_environment else f"{self.origin}: {name.replace('-', '_')}"


@dataclass(frozen=True)
class StoredRun:
    """The content of a run.json: a recipe with all settings."""

    content: Mapping[str, Any]
    where: str


def variable(name: str) -> str:
    """The environment variable of an option: learning-rate is QKV_LEARNING_RATE."""
    return PREFIX + name.upper().replace("-", "_").replace(".", "_")


def read_config(path: Path) -> Mapping[str, Any]:
    """The content of a configuration file, as it is written."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no configuration file {path}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    content = parse_text(text, path)
    if not isinstance(content, dict):
        raise DataError(f"{path} must hold options with their values.")
    return content


def parse_text(text: str, path: Path) -> Any:
    """TOML, unless the name of the file says otherwise."""
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return parse_yaml(text, path)
    try:
        return json.loads(text) if suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not valid {'JSON' if suffix == '.json' else 'TOML'}: {error}.") from None


def parse_yaml(text: str, path: Path) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(
            str(path), package="PyYAML", extra="yaml", otherwise="or write TOML"
        ) from None
    try:
        return yaml.safe_load(text) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(f"{path} is not valid YAML: {error}.") from None


def is_run(content: Mapping[str, Any]) -> bool:
    """Is this the run.json of a training run?"""
    return isinstance(content.get("settings"), dict) and "made" in content and "data" in content


def config_source(path: Path, content: Mapping[str, Any]) -> Source:
    values: dict[str, Any] = {}
    for key, value in flatten(content):
        name = key.replace("_", "-")
        if name in values:
            raise QkvError(f"{path}: {key} is given twice.")
        values[name] = value
    return Source(origin=str(path), values=values)


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables are options with a prefix: `[a]` with b is a.b. The table of a recipe stays one value."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name != RECIPE:
            yield from flatten(value, f"{name}.")
        else:
            yield name, dict(flatten(value)) if isinstance(value, dict) else value
