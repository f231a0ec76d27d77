"""`qkv info`: describe a model from its bundle."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Positional


@dataclass(frozen=True, kw_only=True)
class Info:
    model: Positional[Path]
    """Folder of the model."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Info,
        arguments,
        prog="qkv info",
        description="Show what a model is, what it was trained on, and how good it is.",
    )
    from qkv.checkpoint.files import read_json
    from qkv.families.loading import load

    product = load(command.model)
    rows = dict(product.info())
    report_file = command.model / "report.json"
    try:
        rows |= (
            report_rows(read_json(report_file))
            if report_file.is_file()
            else {"report": "none: training is not complete"}
        )
    except (KeyError, TypeError, AttributeError):
        raise QkvError(f"{report_file} is incomplete: restore it or delete it.") from None
    wide = max(16, *map(len, rows)) + 2
    for name, value in rows.items():
        print(f"{name:<{wide}}{value}")


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
