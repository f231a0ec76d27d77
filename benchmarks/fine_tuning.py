"""GPT-1's recipe on a task with labels: what pre-training is worth, and what the language model's own loss is.

    python benchmarks/fine_tuning.py --labels sst2/train.tsv --valid-labels sst2/dev.tsv --minutes 20 --examples 5000

A language model learns from all texts of the file, without their labels, for so many minutes. Then four classifiers are
made from so many labelled examples, three epochs each: with its weights and from first weights, with the auxiliary loss
(weight 0.5) and without.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison import compare
from rich.console import Console
from rich.table import Table

from qkv.data.labels import Labelled, read_labelled

WAYS = {
    "pre-trained, auxiliary loss": (),
    "pre-trained": ("--auxiliary-weight", "0"),
    "from first weights, auxiliary loss": ("--no-pretrained",),
    "from first weights": ("--no-pretrained", "--auxiliary-weight", "0"),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    labels: Path
    """Texts with labels, tab-separated."""
    valid_labels: Path
    """Those to measure on."""
    columns: str = ""
    """As `qkv train gpt --fine-tune` takes them."""
    minutes: float = 20.0
    """Of pre-training."""
    examples: int = 5_000
    """Labelled examples that the classifiers see."""
    out: Path = Path("runs/benchmark-fine-tuning")
    """Folder for the runs and results.json."""
    seed: int = 1
    """The same for all."""


def write_texts(path: Path, labelled: Labelled) -> None:
    """Each text is a document of its own."""
    texts = [text for inputs in labelled.inputs for text in inputs]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")


def write_labels(path: Path, labelled: Labelled) -> None:
    rows = ["\t".join([*texts, label]) for texts, label in zip(labelled.inputs, labelled.labels, strict=True)]
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def train(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "qkv", "train", "gpt", *map(str, arguments)], check=True)


def run(options: Options) -> list[dict[str, Any]]:
    labelled, valid = (
        read_labelled(path, options.columns) for path in (options.labels, options.valid_labels)
    )
    options.out.mkdir(parents=True)
    text, few, held = (options.out / name for name in ("text.jsonl", "labels.tsv", "valid.tsv"))
    write_texts(text, labelled)
    write_labels(few, labelled.select(range(min(options.examples, len(labelled)))))
    write_labels(held, valid)
    base, seed = options.out / "language-model", ("--seed", options.seed)
    train("--text", text, "--minutes", options.minutes, "--out", base, *seed)
    rows = []
    for number, (way, given) in enumerate(WAYS.items(), 1):
        out = options.out / f"classifier-{number}"
        files = ("--fine-tune", base, "--labels", few, "--valid-labels", held, "--out", out)
        train(*files, *seed, *given)
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        rows.append({"way": way, **report["results"], "minutes": report["training"]["minutes"]})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(highlight=False, width=140).print(table)


def main() -> None:
    compare(Options, __doc__ or "", run, show)


if __name__ == "__main__":
    main()
