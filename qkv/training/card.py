"""A model card: what the model is, what it was trained on, and its results."""

from collections.abc import Mapping
from typing import Any

DISTILLATION_TITLE = "## Distillation"
"""Of the section that compares a student with its teachers."""


def cell(text: Any) -> str:
    """Escape text for a Markdown table, in which | ends a cell even inside code."""
    return str(text).replace("|", "\\|")


def model_card(title: str, usage: str, report: Mapping[str, Any]) -> str:
    """From a report with `data.origin`, the facts of every run, and `results` by name."""
    training, results = report["training"], report["results"]
    rows = "\n".join(f"| {cell(name)} | {cell(value)} |" for name, value in results.items())
    return f"""# {title}

Trained with qkv {report["made_with"]["qkv"]}.

    {usage}

| | |
|---|---|
| trained on | {cell(report["data"]["origin"])} |
| size | {report["parameters"]:,} parameters |
| training | {training["steps"]:,} steps, {training["epochs"]} epochs, {training["minutes"]} minutes, seed {training["seed"]} |
| weights | {cell(training["weights"])} |

## Results

| measure | value |
|---|---|
{rows}

These results hold for data like the training data. `report.json` has all settings.
"""
