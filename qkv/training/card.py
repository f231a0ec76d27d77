"""The model card: what a stranger wants to know of a bundle, from its report."""

from collections.abc import Mapping
from typing import Any


def model_card(report: Mapping[str, Any]) -> str:
    languages, data, training = report["languages"], report["data"], report["training"]
    validation = report["validation"]
    dropped = ", ".join(f"{count} {reason}" for reason, count in data["dropped"].items() if count) or "none"
    return f"""# Translator, {languages["source"]} → {languages["target"]}

Made by qkv {report["made_with"]["qkv"]}. Raw text in, raw text out:

    qkv translate . "…"

| | |
|---|---|
| trained on | {data["origin"]}: {data["pairs"]:,} sentence pairs (dropped: {dropped}) |
| size | {report["parameters"]:,} parameters, {report["vocabulary"]:,} pieces in the vocabulary |
| training | {training["steps"]:,} steps, {training["epochs"]} epochs, {training["minutes"]} minutes, seed {training["seed"]} |
| weights | {training["weights"]} |

## Scores

On {validation["sentences"]:,} held-out validation pairs, beam {validation["beam"]},
length penalty {validation["length_penalty"]}:

| measure | value | signature |
|---|---|---|
| BLEU | {validation["bleu"]["value"]:.2f} | `{validation["bleu"]["signature"]}` |
| chrF | {validation["chrf"]["value"]:.2f} | `{validation["chrf"]["signature"]}` |
| exact match | {validation["exact_match"]:.1f} % | |
| loss per piece | {validation["loss"]:.3f} | |

It knows what its training text shows and nothing else: other domains, other styles and other
languages come out worse than these figures say. `report.json` has every setting.
"""
