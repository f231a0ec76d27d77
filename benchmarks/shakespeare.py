"""Characters of Shakespeare: nanoGPT's recipe for a CPU, run by nanoGPT itself, and ours beside it.

    python benchmarks/shakespeare.py --text input.txt --nanogpt DIR

DIR is a folder with nanoGPT (github.com/karpathy/nanoGPT), which is copied, so that nothing is written there; without
it, ours runs alone beside the figure in nanoGPT's README. Three runs, one after another, each with all cores:

  nanoGPT           the command of its README for a CPU: 4 blocks, width 128, context 64, 12 rows, 2,000 steps
  ours              qkv train gpt --recipe shakespeare-small: the same parameters, tokens and steps
  ours, same time   the same for as many minutes as nanoGPT took, where that is known

nanoGPT estimates its validation loss on 20 random batches, ours is that of the whole validation part; both are in the
time of a run. With --hour, two more of ours, 60 minutes each, and a picture of them in OUT/curve.png:

  ours, an hour     qkv train gpt --recipe shakespeare-hour
  ours, full size   qkv train gpt --recipe shakespeare-full --minutes 60: nanoGPT's recipe for a GPU
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from comparison import compare
from rich.console import Console
from rich.table import Table

from qkv.errors import QkvError
from qkv.flags import Flag
from qkv.pictures import new_figure
from qkv.progress.terminal import say

README_LOSS = 1.88  # nanoGPT's README, of the recipe for a CPU
FULL_LOSS = 1.4697  # ... and of the full one, on a GPU
RECIPE = """--device=cpu --compile=False --eval_iters=20 --log_interval=100 --block_size=64 --batch_size=12 --n_layer=4
    --n_head=4 --n_embd=128 --max_iters=2000 --lr_decay_iters=2000 --dropout=0.0"""
NEEDED = (
    "train.py",
    "model.py",
    "configurator.py",
    "config/train_shakespeare_char.py",
    "data/shakespeare_char/prepare.py",
)
HOURS = {
    "ours, an hour": ("--recipe", "shakespeare-hour"),
    "ours, full size": ("--recipe", "shakespeare-full", "--minutes", "60", "--validate-every", "25"),
}
VALIDATED = re.compile(r"step (\d+): train loss [\d.]+, val loss ([\d.]+)")


@dataclass(frozen=True, kw_only=True)
class Options:
    text: Path
    """Tiny Shakespeare, 1,115,394 characters in one file; the first 90 % are for training."""
    nanogpt: Annotated[Path | None, Flag(metavar="DIR")] = None
    """Folder with nanoGPT."""
    out: Path = Path("runs/benchmark-shakespeare")
    """Folder for the runs and results.json."""
    seed: int = 1
    """Of ours; nanoGPT has one of its own."""
    hour: bool = False
    """Also train for an hour, as well as two cores can, and for another one at nanoGPT's full size."""


@dataclass(frozen=True, kw_only=True)
class Result:
    name: str
    parameters: str
    points: list[tuple[int, float, float]]  # step, minutes, validation loss

    @property
    def last(self) -> tuple[int, float, float]:
        return self.points[-1]

    @property
    def best(self) -> tuple[int, float, float]:
        """Whose weights are kept."""
        return min(self.points, key=lambda point: point[2])


def run_nanogpt(options: Options, folder: Path) -> Result:
    """Its own command in a copy of its folder, with the clock of whoever reads what it prints."""
    shutil.copytree(folder, options.out / "nanoGPT", dirs_exist_ok=True)
    copy = options.out / "nanoGPT"
    data = copy / "data" / "shakespeare_char"
    shutil.copyfile(options.text, data / "input.txt")
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "requests.py").touch()  # only a download would need it
        command = [sys.executable, "-c", prepare_command(empty, data / "prepare.py")]
        subprocess.run(command, check=True, capture_output=True)
    command = [sys.executable, "train.py", "config/train_shakespeare_char.py", *RECIPE.split()]
    began = time.monotonic()
    points, parameters = [], "?"
    with subprocess.Popen(command, cwd=copy, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            minutes = (time.monotonic() - began) / 60
            found = VALIDATED.search(line)
            if found:
                points.append((int(found[1]), minutes, float(found[2])))
                say(f"nanoGPT: step {found[1]}, {minutes:.2f} minutes, validation loss {found[2]}")
            if line.startswith("number of parameters"):
                parameters = line.split(":")[1].strip()
    if process.returncode or not points:
        raise QkvError(f"nanoGPT in {folder} did not run to its end: try its README's command there.")
    return Result(name="nanoGPT", parameters=parameters, points=points)


def prepare_command(folder: str, script: Path) -> str:
    """Run its script, whose import of a library that is not needed is satisfied by an empty file."""
    return f"import runpy, sys; sys.path.append({folder!r}); runpy.run_path({str(script)!r}, run_name='__main__')"


def run_ours(options: Options, name: str, *given: str) -> Result:
    out = options.out / name.replace(", ", "-").replace(" ", "-")
    files = ["--text", str(options.text), "--out", str(out), "--seed", str(options.seed)]
    command = [sys.executable, "-m", "qkv", "train", "gpt", *files, *given]
    say(f"{name}: qkv {' '.join(command[3:])}")
    subprocess.run(command, check=True)
    parameters = json.loads((out / "report.json").read_text())["parameters"]
    return Result(name=name, parameters=f"{parameters:,}", points=points_of(out / "training"))


def points_of(folder: Path) -> list[tuple[int, float, float]]:
    """The two logs have a line for each validation, in the same order."""
    log, timing = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("log.jsonl", "timing.jsonl")
    )
    return [
        (line["step"], clock["seconds"] / 60, line["validation_loss"])
        for line, clock in zip(log, timing, strict=True)
        if "validation_loss" in line
    ]


def run(options: Options) -> list[Result]:
    if not options.text.is_file():
        raise QkvError(f"there is no file {options.text}: give tiny Shakespeare by --text.")
    missing = (
        [] if options.nanogpt is None else [name for name in NEEDED if not (options.nanogpt / name).is_file()]
    )
    if missing:
        raise QkvError(f"{options.nanogpt} is not nanoGPT: it has no {missing[0]}.")
    options.out.mkdir(parents=True)
    results = [] if options.nanogpt is None else [run_nanogpt(options, options.nanogpt)]
    recipe = ["--recipe", "shakespeare-small"]
    results.append(run_ours(options, "ours", *recipe))
    if options.nanogpt is not None:
        minutes = results[0].last[1]
        results.append(run_ours(options, "ours, same time", *recipe, "--minutes", f"{minutes:.3f}"))
    if options.hour:
        hours = [run_ours(options, name, *given) for name, given in HOURS.items()]
        draw(options.out / "curve.png", hours)
        results += hours
    return results


def draw(path: Path, results: list[Result]) -> None:
    """Validation loss over minutes, with nanoGPT's figure for a GPU as a line."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    for result in results:
        _, at, lowest = result.best
        minutes, losses = zip(*((minute, loss) for _, minute, loss in result.points), strict=True)
        label = f"{result.name}, {result.parameters} parameters: {lowest:.3f} after {at:.0f} minutes"
        axes.plot(minutes, losses, marker=".", label=label)
    axes.axhline(FULL_LOSS, color="grey", linestyle="--", label=f"nanoGPT's README, on a GPU: {FULL_LOSS}")
    axes.set_ylim(top=2.2)
    axes.set_xlabel("minutes on two cores")
    axes.set_ylabel("validation loss per character")
    axes.set_title("Tiny Shakespeare")
    axes.legend()
    figure.savefig(path)


def show(results: list[Result]) -> None:
    table = Table(
        "system", "parameters", "steps", "minutes", "best validation loss", "after", "below 1.88 after"
    )
    if not any(result.name == "nanoGPT" for result in results):
        table.add_row(
            "nanoGPT's README, recipe for a CPU", "0.80M", "2,000", "about 3", f"{README_LOSS}", "", ""
        )
    for result in results:
        (step, minutes, _), (_, when, loss) = result.last, result.best
        below = next((f"{at:.2f} min" for _, at, reached in result.points if reached < README_LOSS), "never")
        cells = (f"{step:,}", f"{minutes:.2f}", f"{loss:.4f}", f"{when:.2f} min", below)
        table.add_row(result.name, result.parameters, *cells)
    if any(result.name in HOURS for result in results):
        table.add_row("nanoGPT's README, full recipe on a GPU", "10.65M", "5,000", "", f"{FULL_LOSS}", "", "")
    Console(highlight=False, width=120).print(table)


def main() -> None:
    compare(
        Options,
        __doc__ or "",
        lambda options: [vars(result) for result in run(options)],
        lambda rows: show([Result(**row) for row in rows]),
    )


if __name__ == "__main__":
    main()
