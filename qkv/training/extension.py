"""A resumed run may end later than it was planned to: `run.json` keeps the first settings and every extension.

Importing this needs no torch.
"""

from collections.abc import Mapping
from typing import Any

LIMITS = ("steps", "minutes")
EXTENSIONS = "extensions"  # in run.json


def current_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run with the limits of its last extension."""
    settings = dict(stored["settings"])
    for extension in stored.get(EXTENSIONS, [])[-1:]:
        settings |= {name: extension[name] for name in LIMITS}
    return settings


def with_extension(
    stored: Mapping[str, Any], limits: Mapping[str, Any], from_step: int, arithmetic: Mapping[str, str]
) -> dict[str, Any]:
    """The content of run.json after an extension."""
    extension = {"from_step": from_step, **{name: limits[name] for name in LIMITS}, "arithmetic": arithmetic}
    return {**stored, EXTENSIONS: [*stored.get(EXTENSIONS, []), extension]}


def raised_limits(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """The limits that are higher now. A limit that did not exist before is not higher."""
    return {
        name
        for name in LIMITS
        if before[name] is not None and now[name] is not None and now[name] > before[name]
    }
