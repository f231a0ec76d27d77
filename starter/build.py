"""Put two trained models into the package qkv-starter: weights in float16, and a card with sources and scores.

    python starter/build.py --models runs --scores scores.json

Scores come from starter/evaluate.py. `make dist` then builds the wheel. A model of everyday sentences that reaches less than
LEAST_CHRF on them helps nobody, and is not packaged.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from qkv.checkpoint.bundle import TOKENIZER_FILE, load_bundle, save_bundle, save_report
from qkv.checkpoint.files import read_json

PACKAGE = Path(__file__).parent / "qkv_starter"
LEAST_CHRF = 50.0
LARGEST = 20_000_000  # bytes of both directions
NAMES = {"en-de": "English to German", "de-en": "German to English"}
CARD = Path(__file__).parent / "CARD.md"


def main() -> None:
    parser = argparse.ArgumentParser(description="Put trained models into the package qkv-starter.")
    parser.add_argument("--models", type=Path, required=True, help="folder with the models en-de and de-en")
    parser.add_argument("--scores", type=Path, required=True, help="what starter/evaluate.py has written")
    options = parser.parse_args()
    scores = json.loads(options.scores.read_text(encoding="utf-8"))
    weak = {
        pair: found["everyday"]["chrf"]
        for pair, found in scores.items()
        if found["everyday"]["chrf"] < LEAST_CHRF
    }
    if weak:
        sys.exit(f"not packaged: everyday sentences reach chrF {weak}, less than {LEAST_CHRF:g}.")
    for pair in NAMES:
        write_model(options.models / pair, PACKAGE / pair, pair, scores[pair])
    size = sum(each.stat().st_size for each in PACKAGE.rglob("*") if each.is_file())
    print(f"{PACKAGE}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"both directions together may have {LARGEST:,} bytes.")


def write_model(model: Path, output: Path, pair: str, scores: dict[str, Any]) -> None:
    bundle = load_bundle(model)
    shutil.rmtree(output, ignore_errors=True)
    weights = {name: np.asarray(bundle.weights[name], np.float16) for name in bundle.weights}
    files = {TOKENIZER_FILE: (model / TOKENIZER_FILE).read_bytes()}
    save_bundle(output, bundle.kind, bundle.config, weights, files)
    report = read_json(model / "report.json")
    save_report(output, {**report, "starter": scores}, card(pair, report, scores))


def card(pair: str, report: dict[str, Any], scores: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| {name} | {found['sentences']:,} | {found['bleu']:.1f} | {found['chrf']:.1f} |"
        for name, found in scores.items()
    )
    return CARD.read_text(encoding="utf-8").format(
        direction=NAMES[pair],
        pair=pair,
        parameters=report["parameters"],
        pairs=report["data"]["pairs"],
        steps=report["training"]["steps"],
        minutes=round(report["training"]["minutes"]),
        scores=rows,
    )


if __name__ == "__main__":
    main()
