"""Write values as TOML. The standard library only reads it."""

import json
from pathlib import Path
from typing import Any


def toml_line(name: str, value: Any) -> str:
    """`learning_rate = 0.001`. A prefix is a table, which a dotted key writes too."""
    return f"{name.replace('-', '_')} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)  # also nan and inf
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if value is None:  # TOML has no null; options accept the word
        return '"None"'
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    raise TypeError(f"no TOML for {type(value).__name__}")
