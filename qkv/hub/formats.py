"""Find the mapping that reads a published model or exports a bundle, from the family records."""

import difflib
from collections.abc import Mapping
from typing import Any

from qkv.errors import DataError
from qkv.families import exports, hub_formats
from qkv.families.family import HubFormat, resolve
from qkv.hub.mapping import HubMapping


def format_of(config: Mapping[str, Any], where: str) -> HubFormat:
    """The format of a published folder, by the model_type and the classes in its config.json."""
    formats, name = hub_formats(), config.get("model_type")
    if not isinstance(name, str) or name not in formats:
        near = difflib.get_close_matches(str(name), formats, n=1)
        hint = f"; did you mean {near[0]}?" if near else f". It reads {', '.join(formats)}."
        raise DataError(f"{where} has the model type '{name}', which qkv cannot read{hint}")
    check_class(config, formats[name], where)
    return formats[name]


def check_class(config: Mapping[str, Any], format: HubFormat, where: str) -> None:
    """A folder that names its class is read only as that class."""
    names = config.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{where}: architectures in its config.json should be a list of names, not {names!r}."
        )
    for name in names:
        if name not in format.classes:
            raise DataError(
                f"{where} is a {name} (architectures in its config.json), which qkv cannot read. Of this type it reads "
                f"{', '.join(format.classes)}."
            )


def reader_of(config: Mapping[str, Any], where: str) -> HubMapping:
    return mapping_at(format_of(config, where).mapping)


def writer_of(kind: str, where: str) -> HubMapping:
    mappings = exports()
    if kind not in mappings:
        raise DataError(
            f"{where} holds a model of kind '{kind}', for which transformers has no class: it cannot be exported."
        )
    return mapping_at(mappings[kind])


def mapping_at(reference: str) -> HubMapping:
    mapping: HubMapping = resolve(reference)()
    return mapping
