"""info: what a model is, what it was trained on, and how good it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qkv import html
from qkv.errors import DataError


class ModelInfo(dict[str, str]):
    """Facts about a model, by name. `print` shows them as `qkv info` does, and a notebook as a table.

    Example:
        >>> qkv.info("runs/en-de")["kind"]
        'translator, en → de'
    """

    def __str__(self) -> str:
        wide = max(16, *map(len, self)) + 2
        return "\n".join(f"{name:<{wide}}{value}" for name, value in self.items())

    def _repr_html_(self) -> str:
        return html.table(self.items(), texts=2)


def info(model: Any) -> ModelInfo:
    """What a model is, what it was trained on, and how good it is, as `qkv info` shows it.

    Args:
        model: A model from `qkv.load`, or its folder.

    Returns:
        A dictionary of facts. A model that was built in memory has no report of its training.

    Example:
        >>> facts = qkv.info("runs/en-de")
        >>> facts["kind"]
        'translator, en → de'
        >>> "parameters" in facts
        True
    """
    from qkv.families.loading import load
    from qkv.families.products import folder_of, kind_of_product

    if isinstance(model, str | os.PathLike):
        path = Path(model)
        return ModelInfo(load(path).info() | rows_in(path / "report.json"))
    kind_of_product(model)  # an error for anything else
    folder = folder_of(model)
    return ModelInfo(model.info() | ({} if folder is None else rows_in(folder / "report.json")))


def rows_in(report: Path) -> dict[str, str]:
    from qkv.checkpoint.files import read_json

    if not report.is_file():
        return {"report": "none (missing, or training is not complete)"}
    try:
        return report_rows(read_json(report))
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{report} is incomplete: restore it or delete it.") from None


def report_rows(report: dict[str, Any]) -> dict[str, str]:
    if "imported" in report:  # trained elsewhere
        results: dict[str, str] = report["results"]
        return results
    data, training = report["data"], report["training"]
    amount = f", {data['pairs']:,} pairs" if "pairs" in data else ""
    rows = {
        "trained on": f"{data['origin']}{amount}",
        "training": f"{training['steps']:,} steps, {training['minutes']} minutes, seed {training['seed']}",
        "weights": training["weights"],
    }
    return rows | (report["results"] if "results" in report else score_rows(report))


def score_rows(report: dict[str, Any]) -> dict[str, str]:
    """The scores of a translator."""
    validation = report["validation"]
    rows = {
        "BLEU": f"{validation['bleu']['value']:.2f}   {validation['bleu']['signature']}",
        "chrF": f"{validation['chrf']['value']:.2f}   {validation['chrf']['signature']}",
        "exact match": f"{validation['exact_match']:.1f} % of {validation['sentences']:,} held-out pairs",
    }
    for name, test in report.get("tests", {}).items():
        rows[name] = (
            f"BLEU {test['bleu']['value']:.2f}, chrF {test['chrf']['value']:.2f} on {test['sentences']:,} sentences"
        )
    if "test" in report:  # from `qkv demo`
        test = report["test"]
        rows["on new sentences"] = (
            f"BLEU {test['bleu']['value']:.1f}, exact match {test['exact_match']:.1f} %, "
            f"pronouns right {test['pronoun_agreement']:.1f} %"
        )
    return rows
