"""Translation with and without an encoder, at equal parameters: T-ED beside T-D.

    python benchmarks/one_stream.py                     on the built-in languages, English to German
    python benchmarks/one_stream.py --data DIR          on Multi30k too, with the recipe multi30k-tiny

Both are trained by `qkv train translator` with the same recipe, data, steps and seed. The decoder that stands alone is
deeper by the blocks of the encoder and by the attention on it, so that both have the same number of weights.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from comparison import compare
from rich.console import Console
from rich.table import Table

from qkv.data.worlds import pairs
from qkv.families.translator.recipes import RECIPES
from qkv.families.translator.settings import ModelSettings
from qkv.flags import Flag
from qkv.progress.terminal import say

BUILT_IN_PAIRS = 100_000
TESTED = 1_000
AMOUNT = 30_000  # of pairs, where a recipe asks; those used here do not


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Annotated[Path | None, Flag(metavar="DIR")] = None
    """Folder with Multi30k: train, val and test_2016_flickr, each .lc.norm.tok.en and .lc.norm.tok.de."""
    out: Path = Path("runs/benchmark-one-stream")
    """Folder for the runs and results.json."""
    steps: int | None = None
    """Instead of those of the recipes."""
    seed: int = 1
    """The same for all."""


def depth_alone(model: ModelSettings) -> int:
    """Blocks of a decoder with as many weights as encoder and decoder together have."""
    attention, feed_forward = 4 * model.width**2, 2 * model.width * model.ffn_width
    encoder = model.encoder_depth * (attention + feed_forward)
    decoder = model.decoder_depth * (2 * attention + feed_forward)
    return round((encoder + decoder) / (attention + feed_forward))


def built_in_files(folder: Path, seed: int) -> list[str]:
    """The built-in languages as the files that any other data come in."""
    folder.mkdir(parents=True)
    for part, count in (("train", BUILT_IN_PAIRS), ("valid", TESTED), ("test", TESTED)):
        found = pairs("en", "de", count, part=part, seed=seed)  # type: ignore[arg-type]
        (folder / f"{part}.en").write_text("".join(f"{pair.source}\n" for pair in found), encoding="utf-8")
        (folder / f"{part}.de").write_text("".join(f"{pair.target}\n" for pair in found), encoding="utf-8")
    return ["--data", str(folder), "--source-language", "en", "--target-language", "de"]


def train_both(name: str, recipe: str, files: list[str], options: Options) -> list[dict[str, Any]]:
    model = RECIPES[recipe](AMOUNT).model
    alone = ["--encoder-depth", "0", "--decoder-depth", str(depth_alone(model))]
    shapes = {"encoder and decoder (T-ED)": [], "one stream (T-D)": alone}
    rows = []
    for shape, given in shapes.items():
        out = options.out / f"{name}-{'one-stream' if given else 'encoder-decoder'}"
        shared = ["--recipe", recipe, "--seed", str(options.seed), "--out", str(out)]
        steps = [] if options.steps is None else ["--steps", str(options.steps)]
        command = [sys.executable, "-m", "qkv", "train", "translator", *files, *shared, *steps, *given]
        say(f"{name}, {shape}: qkv {' '.join(command[3:])}")
        subprocess.run(command, check=True)
        rows.append({"data": name, "shape": shape, **measured(out)})
    return rows


def measured(out: Path) -> dict[str, Any]:
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    test = next(iter(report["tests"].values()))
    return {
        "parameters": report["parameters"],
        "minutes": report["training"]["minutes"],
        "tokens_per_second": report["training"]["tokens_per_second"],
        "validation_loss": report["validation"]["loss"],
        "bleu": test["bleu"]["value"],
        "exact_match": test["exact_match"],
    }


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(
        "data", "model", "parameters", "minutes", "tokens/s", "validation loss", "test BLEU", "exact match"
    )
    for row in rows:
        table.add_row(
            row["data"],
            row["shape"],
            f"{row['parameters']:,}",
            f"{row['minutes']:.1f}",
            f"{row['tokens_per_second']:,}",
            f"{row['validation_loss']:.3f}",
            f"{row['bleu']:.2f}",
            f"{row['exact_match']:.1f} %",
        )
    Console(highlight=False, width=140).print(table)


def run(options: Options) -> list[dict[str, Any]]:
    files = built_in_files(options.out / "built-in", options.seed)
    rows = train_both("built-in", "built-in", files, options)
    if options.data is not None:
        rows += train_both("multi30k", "multi30k-tiny", ["--data", str(options.data)], options)
    return rows


def main() -> None:
    compare(Options, __doc__ or "", run, show)


if __name__ == "__main__":
    main()
