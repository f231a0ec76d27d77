"""The recurrent ancestor against the Transformer: what the decks claim, measured.

    python benchmarks/against_recurrent.py --quick                       a minute: that everything works; its figures say little
    python benchmarks/against_recurrent.py --only speed,distance,damage  without data of your own
    python benchmarks/against_recurrent.py --only quality --data DIR     time to quality on Multi30k

  speed     tokens a second at equal parameters as sentences grow: in training ("parallel against sequential"), with
            full batches and one sentence at a time, and when words are said one after another
  distance  pronouns that agree with their noun as the distance between the two grows, also beyond what training has
            shown ("constant against growing path"): LSTMs, and Transformers with each kind of positions
  damage    sources that are trimmed, lack words or are permuted (deck 004), for the same models
  quality   the command for Multi30k with both models, each for so many minutes (benchmarks/multi30k.py)

The models of distance and damage are trained once, by the command, and kept in OUT/languages. Everything that was
measured is in OUT/results.json, and as pictures beside it; `--report` shows it again.
"""

import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from recurrence import damage, languages, pictures, speed
from rich.console import Console
from rich.table import Table

import qkv
from qkv.checkpoint.files import read_json, write_json
from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.progress.terminal import say
from qkv.training.distributed import cores

QUICK_LENGTHS = (8, 64)


@dataclass(frozen=True, kw_only=True)
class Options:
    only: str = "speed,distance,damage"
    """Which parts to run; what others have left in --out stays."""
    quick: bool = False
    """Tiny models and few steps: a minute that shows that everything works."""
    out: Path = Path("runs/against-recurrent")
    """Folder for the models, results.json and the pictures."""
    seed: int = 1
    """Of sentences and weights."""
    steps: int = languages.FULL.steps
    """Of each training on the built-in languages."""
    models: str = ",".join(languages.MODELS)
    """Which models to train on the built-in languages."""
    lengths: tuple[int, ...] = speed.LENGTHS
    """Words a side in the part speed."""
    rounds: int = 5
    """Turns of each model for each length in the part speed; the fastest counts."""
    seconds: float = 1.0
    """Length of a turn."""
    data: Path | None = None
    """Folder with Multi30k, for the part quality."""
    minutes: float = 40.0
    """Wall-clock limit of each training run on Multi30k."""
    report: bool = False
    """Show what results.json in --out holds, without measuring anything."""


def measured_speed(options: Options) -> dict[str, Any]:
    lengths, rounds, seconds = options.lengths, options.rounds, options.seconds
    if options.quick:
        lengths, rounds, seconds = QUICK_LENGTHS, 1, 0.2
    works = speed.measured(lengths, rounds, seconds)
    return {
        "weights": {kind: speed.blocks_of(model) for kind, model in speed.both_models().items()},
        "threads": torch.get_num_threads(),
        "works": {name: [asdict(row) for row in rows] for name, rows in works.items()},
    }


def amount_of(options: Options) -> languages.Amount:
    if options.quick:
        return languages.QUICK
    names = tuple(name.strip() for name in options.models.split(","))
    unknown = [name for name in names if name not in languages.MODELS]
    if unknown:
        raise QkvError(f"--models knows {', '.join(languages.MODELS)}, not {', '.join(unknown)}.")
    return replace(languages.FULL, steps=options.steps, models=names)


def trained(options: Options) -> tuple[dict[str, Any], languages.Amount]:
    amount = amount_of(options)
    folder = options.out / ("quick" if options.quick else "languages")
    return languages.trained(amount, folder, options.seed), amount


def measured_distance(options: Options) -> dict[str, Any]:
    models, amount = trained(options)
    found = languages.distances(models, amount.tested, options.seed)
    return {
        "shown": languages.SHOWN,
        "steps": amount.steps,
        "parameters": {name: parameters_of(each) for name, each in models.items()},
        "models": {name: [asdict(row) for row in rows] for name, rows in found.items()},
    }


def measured_damage(options: Options) -> dict[str, Any]:
    models, amount = trained(options)
    found = damage.damages(models, amount.tested, options.seed)
    return {
        "steps": amount.steps,
        "models": {
            name: {kind: asdict(each) for kind, each in by_kind.items()} for name, by_kind in found.items()
        },
    }


def measured_quality(options: Options) -> dict[str, Any]:
    """Shown and drawn by the benchmark that does it."""
    import multi30k
    from multi30k_systems.common import Options as QualityOptions

    folder = options.out / "quality"
    multi30k.run(
        QualityOptions(
            data=options.data, minutes=options.minutes, out=folder, only="ours,recurrent", seed=options.seed
        )
    )
    found: dict[str, Any] = read_json(folder / "results.json")
    return found


def parameters_of(translator: Any) -> int:
    return sum(parameter.numel() for parameter in translator.model.parameters())


@dataclass(frozen=True)
class Part:
    measure: Callable[[Options], dict[str, Any]]
    tables: Callable[[Any], list[Table]] | None = None
    picture: Callable[[Path, Any], None] | None = None


PARTS = {
    "speed": Part(measured_speed, pictures.speed_tables, pictures.speed_picture),
    "distance": Part(measured_distance, pictures.distance_tables, pictures.distance_picture),
    "damage": Part(measured_damage, pictures.damage_tables, pictures.damage_picture),
    "quality": Part(measured_quality),
}


def parts_of(options: Options) -> list[str]:
    names = [name.strip() for name in options.only.split(",")]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise QkvError(f"--only knows {', '.join(PARTS)}, not {', '.join(unknown)}.")
    if "quality" in names and options.data is None:
        raise QkvError("the part quality needs --data, a folder with Multi30k.")
    return names


def run(options: Options) -> None:
    path = options.out / ("quick.json" if options.quick else "results.json")
    results: dict[str, Any] = read_json(path) if path.exists() else {}
    names = parts_of(options)
    amount_of(options)  # a wrong name is told at once
    if options.report:
        names = [name for name in PARTS if name in results]
        if not names:
            raise QkvError(f"there is no {path}: measure something first.")
    for name in names:
        if not options.report:
            options.out.mkdir(parents=True, exist_ok=True)
            results[name] = {"measured": measured_with(options), **PARTS[name].measure(options)}
            write_json(path, results)
        show(name, results[name], options)


def measured_with(options: Options) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "quick": options.quick,
        "machine": {"processor": platform.processor() or platform.machine(), "cores": cores()},
        "versions": {"qkv": qkv.__version__, "torch": torch.__version__, "python": platform.python_version()},
    }


def show(name: str, results: dict[str, Any], options: Options) -> None:
    part = PARTS[name]
    console = Console(highlight=False, width=max(120, shutil.get_terminal_size().columns))
    for table in part.tables(results) if part.tables else []:
        console.print(table)
    if part.picture:
        path = options.out / f"{name}{'-quick' if options.quick else ''}.png"
        part.picture(path, results)
        say(f"the picture is {path}")


if __name__ == "__main__":
    try:
        run(
            read_options(
                Options, sys.argv[1:], prog="benchmarks/against_recurrent.py", description=__doc__ or ""
            )
        )
    except QkvError as error:
        sys.exit(fail(str(error)))
    except KeyboardInterrupt:
        fail("stopped; parts that were finished, and models that were trained, are kept.")
        sys.exit(130)
