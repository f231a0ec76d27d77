"""A model card: what the model is, what it was trained on, its results, and how to use it.

The first lines are YAML, as model hubs read them. A card has no license: whoever publishes a model states one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DISTILLATION_TITLE = "## Distillation"
"""Of the section that compares a student with its teachers."""


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """What a kind of model is for."""

    task: str
    """As model hubs call it; empty if they have no word for it."""
    command: str
    """A command in the folder of the model."""
    python: str
    """The same in Python, with `model`."""
    use: str
    """Sentences on intended use and limits."""


def cell(text: Any) -> str:
    """Escape text for a Markdown table, in which | ends a cell even inside code."""
    return str(text).replace("|", "\\|")


def model_card(title: str, purpose: Purpose, report: Mapping[str, Any]) -> str:
    """From a report with `data.origin`, the facts of every run, and `results` by name."""
    rows = "\n".join(f"| {cell(name)} | {cell(value)} |" for name, value in report["results"].items())
    return f"""{front_matter(purpose, report)}# {title}

{usage(purpose, report)}
{facts_table(report, cell(report["data"]["origin"]))}

## Results

| measure | value |
|---|---|
{rows}

{limits(purpose)}"""


def front_matter(purpose: Purpose, report: Mapping[str, Any]) -> str:
    """The YAML block. Every value is JSON, which is also YAML."""
    languages = [each for each in report.get("languages", {}).values() if each]
    values = {
        "library_name": "qkv",
        "tags": ["qkv", "transformer"],
        "pipeline_tag": purpose.task,
        "language": languages,
        "metrics": [name for name in ("bleu", "chrf") if name in report.get("validation", {})],
        "model-index": model_index(purpose, report),
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items() if value]
    return "\n".join(["---", *lines, "---", "", ""])


def model_index(purpose: Purpose, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Scores of test sets, in the form that hubs show."""
    results = [
        {
            "task": {"type": purpose.task},
            "dataset": {"name": name, "type": "custom"},
            "metrics": [{"type": each, "value": round(test[each]["value"], 2)} for each in ("bleu", "chrf")],
        }
        for name, test in report.get("tests", {}).items()
    ]
    return [{"name": f"qkv {report.get('kind', 'model')}", "results": results}] if results else []


def usage(purpose: Purpose, report: Mapping[str, Any]) -> str:
    return f"""Trained with qkv {report["made_with"]["qkv"]}. In the folder of the model:

    {purpose.command}

In Python:

    import qkv

    model = qkv.load(".")
    {purpose.python}
"""


def facts_table(report: Mapping[str, Any], trained_on: str, size: str = "") -> str:
    training = report["training"]
    return f"""| | |
|---|---|
| trained on | {trained_on} |
| size | {report["parameters"]:,} parameters{size} |
| training | {training["steps"]:,} steps, {training["epochs"]} epochs, {training["minutes"]} minutes, seed {training["seed"]} |
| weights | {cell(training["weights"])} |"""


def limits(purpose: Purpose) -> str:
    return f"""## Intended use and limits

{purpose.use} The results hold for data like the training data. Expect lower quality elsewhere. `report.json` has all settings.
"""
