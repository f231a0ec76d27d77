"""Adapt a translator to 500, 1,000, 5,000 and all pairs of a project: a table, and a curve of gain and loss.

    python benchmarks/adaptation.py runs/base --project train.en-de.tsv --general train.eng-deu.tsv --output runs/curve

Run again, it continues. Every size is a run of `qkv.adapt` with a folder of its own.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import qkv
from qkv.data.parallel import read_pairs


def adapted(
    base: Path, pairs: Sequence[tuple[str, str]], output: Path, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The receipt of an adaptation, or the reason why there is none."""
    receipt = output / "adaptation.json"
    if not receipt.exists():
        try:
            qkv.adapt(base, list(pairs), output=output, **options)
        except qkv.ModelError as error:
            return {"refused": str(error)}
    found: dict[str, Any] = json.loads(receipt.read_text(encoding="utf-8"))
    return found


def row(size: int, receipt: Mapping[str, Any]) -> str:
    if "refused" in receipt:
        return f"| {size:,} | refused: {receipt['refused']} | | | | | |"
    cells = [
        f"{receipt[part]['before']['chrf']['value']:.1f} → {receipt[part]['after']['chrf']['value']:.1f} "
        f"({receipt[part]['chrf_difference']['low']:+.1f} to {receipt[part]['chrf_difference']['high']:+.1f})"
        for part in ("domain", "general")
    ]
    chosen = receipt["chosen"]
    lost = receipt["lost_words"]["count"]
    return (
        f"| {size:,} | {' | '.join(cells)} | {chosen['rate']:g} | {chosen['steps']:,} | {lost:,} | "
        f"{receipt['minutes']:.1f} |"
    )


def draw(receipts: Mapping[int, Mapping[str, Any]], path: Path) -> None:
    """Every snapshot: what it gained on the project's text, and what it lost on general text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for size, receipt in receipts.items():
        if "refused" in receipt:
            continue
        before = receipt["base_chrf"]
        points = sorted(
            (each["general"] - before["general"], each["domain"] - before["domain"])
            for each in receipt["snapshots"]
        )
        axes.plot(*zip(*points, strict=True), "o", label=f"{size:,} pairs")
    axes.axvline(0, color="grey", linewidth=0.5)
    axes.set(xlabel="change of general chrF", ylabel="change of chrF on the project's text")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("--project", type=Path, required=True, help="pairs of the project")
    parser.add_argument(
        "--general", type=Path, help="general pairs; by default the training data of the base model"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1_000, 5_000, 0], help="0 for all")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--epochs", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    project = read_pairs(given.project)
    pairs = list(zip(project.source, project.target, strict=True))
    random.Random(given.seed).shuffle(pairs)
    options = {"general": given.general, "minutes": given.minutes, "epochs": given.epochs, "seed": given.seed}
    given.output.mkdir(parents=True, exist_ok=True)
    receipts = {}
    for size in given.sizes:
        chosen = pairs[: size or None]
        receipts[len(chosen)] = adapted(given.base, chosen, given.output / f"pairs-{len(chosen)}", options)
    print(
        "| pairs | project chrF | general chrF | rate | steps | words lost | minutes |\n|---:|---|---|---:|---:|---:|---:|"
    )
    for size, receipt in receipts.items():
        print(row(size, receipt))
    draw(receipts, given.output / "curve.png")


if __name__ == "__main__":
    main()
