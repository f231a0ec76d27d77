"""The model card of kinds whose results are a list: what it is, what it learned from, how good it is."""

from collections.abc import Mapping
from typing import Any


def cell(text: Any) -> str:
    """For a table in Markdown, where | ends a cell, also in code."""
    return str(text).replace("|", "\\|")


def model_card(title: str, usage: str, report: Mapping[str, Any]) -> str:
    """From a report with `data.origin`, the facts of every run, and `results`: what was measured, by name."""
    training, results = report["training"], report["results"]
    rows = "\n".join(f"| {cell(name)} | {cell(value)} |" for name, value in results.items())
    return f"""# {title}

Made by qkv {report["made_with"]["qkv"]}.

    {usage}

| | |
|---|---|
| trained on | {cell(report["data"]["origin"])} |
| size | {report["parameters"]:,} parameters |
| training | {training["steps"]:,} steps, {training["epochs"]} epochs, {training["minutes"]} minutes, seed {training["seed"]} |
| weights | {cell(training["weights"])} |

## What was measured

| measure | value |
|---|---|
{rows}

It knows what it was trained on and nothing else. `report.json` has every setting.
"""
