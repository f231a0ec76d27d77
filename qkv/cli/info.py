"""`qkv info`: what a model is, from its bundle."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from qkv.cli.options import read_options
from qkv.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Info:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Info, arguments, prog="qkv info", description="What a model is and how good it is."
    )
    from qkv.checkpoint.files import read_json
    from qkv.pipeline import load

    translator = load(command.model)
    model, defaults = translator.model.config, translator.defaults
    rows = {
        "kind": f"translator, {defaults.languages.source} → {defaults.languages.target}",
        "parameters": f"{sum(p.numel() for p in translator.model.parameters()):,}",
        "vocabulary": f"{model.vocab:,} pieces",
        "encoder": describe(model.encoder),
        "decoder": describe(model.decoder),
        "positions": model.positions,
        "longest source": f"{translator.limit:,} pieces; more is translated in parts",
        "decoding": f"beam {defaults.beam}, length penalty {defaults.length_penalty:g}",
    }
    report_file = command.model / "report.json"
    try:
        rows |= (
            reported(read_json(report_file))
            if report_file.is_file()
            else {"report": "none: training has not ended"}
        )
    except (KeyError, TypeError, AttributeError):
        raise UserError(f"{report_file} lacks something that qkv writes: restore it, or delete it.") from None
    wide = max(16, *map(len, rows)) + 2
    for name, value in rows.items():
        print(f"{name:<{wide}}{value}")


def reported(report: dict[str, Any]) -> dict[str, str]:
    data, training, validation = report["data"], report["training"], report["validation"]
    rows = {
        "trained on": f"{data['origin']}, {data['pairs']:,} pairs",
        "training": f"{training['steps']:,} steps, {training['minutes']} minutes, seed {training['seed']}",
        "weights": training["weights"],
        "BLEU": f"{validation['bleu']['value']:.2f}   {validation['bleu']['signature']}",
        "chrF": f"{validation['chrf']['value']:.2f}   {validation['chrf']['signature']}",
        "exact match": f"{validation['exact_match']:.1f} % of {validation['sentences']:,} held-out pairs",
    }
    for name, test in report.get("tests", {}).items():
        rows[name] = (
            f"BLEU {test['bleu']['value']:.2f}, chrF {test['chrf']['value']:.2f} on {test['sentences']:,} sentences"
        )
    if "test" in report:  # of the demo
        test = report["test"]
        rows["on new sentences"] = (
            f"BLEU {test['bleu']['value']:.1f}, exact match {test['exact_match']:.1f} %, "
            f"pronouns right {test['pronoun_agreement']:.1f} %"
        )
    return rows


def describe(stack: Any) -> str:
    facts = vars(stack)
    return (
        f"{facts['depth']} blocks, width {facts['width']}, {facts['heads']} heads, "
        f"hidden {facts['hidden']}, {facts['norm']}-norm, {facts['activation']}"
    )
