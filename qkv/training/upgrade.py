"""Settings of runs that an earlier version of qkv started."""

from collections.abc import Mapping
from typing import Any

from qkv.training.settings import RunSettings


def upgraded_settings(stored: Mapping[str, Any], kind: type[RunSettings]) -> dict[str, Any]:
    """The settings of a run as this version names them."""
    return dict(stored)
