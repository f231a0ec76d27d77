"""The reference of the Python interface: every public name, read by mkdocstrings from the imported package."""

import inspect

import qkv


def python_page() -> str:
    groups: dict[str, list[str]] = {
        "Functions": [],
        "Models": [],
        "Options": [],
        "Results": [],
        "Training events": [],
        "Errors": [],
    }
    for name in sorted(qkv.__all__):
        if not name.startswith("_"):
            groups[group_of(name)].append(name)
    parts = ["# Python reference", "", "[Python](python.md) explains how the parts belong together.", ""]
    for title, names in groups.items():
        parts += [f"## {title}", ""]
        parts += [line for name in names for line in entry(name)]
    return "\n".join(parts)


def group_of(name: str) -> str:
    value = getattr(qkv, name)
    if not inspect.isclass(value):
        return "Functions"
    if issubclass(value, Exception):
        return "Errors"
    if issubclass(value, qkv.Model):
        return "Models"
    if name.endswith("Event") or name == "Callback":
        return "Training events"
    return "Options" if name.endswith("Options") or name in ("Running", "Glossary") else "Results"


def entry(name: str) -> list[str]:
    value = getattr(qkv, name)
    return [
        f"::: {value.__module__}.{value.__qualname__}",
        "    options:",
        "      heading_level: 3",
        f"      heading: qkv.{name}",
        "",
    ]
