"""`qkv info`: what a model is, from its bundle."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True, kw_only=True)
class Info:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""


def main(arguments: list[str]) -> None:
    command = tyro.cli(
        Info, args=arguments, prog="qkv info", description="What a model is and how good it is."
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
    if report_file.is_file():
        report = read_json(report_file)
        data, training, validation = report["data"], report["training"], report["validation"]
        rows["trained on"] = f"{data['origin']}, {data['pairs']:,} pairs"
        rows["training"] = (
            f"{training['steps']:,} steps, {training['minutes']} minutes, seed {training['seed']}"
        )
        rows["weights"] = training["weights"]
        rows["BLEU"] = f"{validation['bleu']['value']:.2f}   {validation['bleu']['signature']}"
        rows["chrF"] = f"{validation['chrf']['value']:.2f}   {validation['chrf']['signature']}"
        rows["exact match"] = (
            f"{validation['exact_match']:.1f} % of {validation['sentences']:,} held-out pairs"
        )
    else:
        rows["report"] = "none yet: the training run has not ended"
    for name, value in rows.items():
        print(f"{name:<16}{value}")


def describe(stack: object) -> str:
    facts = vars(stack)
    return (
        f"{facts['depth']} blocks, width {facts['width']}, {facts['heads']} heads, "
        f"hidden {facts['hidden']}, {facts['norm']}-norm, {facts['activation']}"
    )
