"""Small models against an earlier commit: words per second for a file, and tokens per second in training.

    python benchmarks/small.py --base 2b02bbe

The earlier commit is checked out into a git worktree, and its engine is built. Both versions then take turns, in processes
of their own. The model has the shape of the Multi30k recipe (4 + 4 blocks, width 128, FFN width 256, 4 heads, 8,000 tokens)
and copies its source (copying_model.py): its cost is that of a trained model of this shape. `--model` takes a trained one.
A turn of a file is one call of `translate` with a list of captions, with all guarantees on. Training is
`qkv train translator` on the tiny shape with the recipe's optimizer. The last line divides the speed of this version by that
of the earlier one. Where this version can use a vocabulary shortlist, that figure is printed on a line of its own.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from copying_model import captions, save_copying_model, save_with_shortlist
from training import SHAPES, made_up
from training_systems import Ours, end

from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("small_worker.py")


@dataclass(frozen=True, kw_only=True)
class Options:
    base: str = "2b02bbe"
    """The commit to compare with."""
    model: Path | None = None
    """A trained bundle instead of the one that copies; both versions must be able to read it."""
    input: Path | None = None
    """Sentences to translate, one per line; by default made-up captions."""
    lines: int = 1_000
    """Sentences of the file."""
    beam_size: int = 1
    """Hypotheses kept at every step."""
    rounds: int = 7
    """Turns of each version with the file."""
    training_rounds: int = 4
    """Turns of each version in training; 0 leaves training out."""
    seconds: float = 8.0
    """Length of a turn in training."""


@dataclass
class Version:
    """One version of qkv, with a process that translates."""

    name: str
    tree: Path
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of each task
    speeds: list[float] = field(default_factory=list)  # tokens per second in training

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.tree), "PYTHONSAFEPATH": "1"}

    def start(self, *arguments: object) -> None:
        command = [sys.executable, str(WORKER), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **self.environment}
        )  # fmt: skip
        found = self.answer()
        if not Path(found).is_relative_to(self.tree):
            raise QkvError(f"{self.name} imports {found}, which is not in {self.tree}.")

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise QkvError(f"{self.name} has ended: see its message above.")
        return line

    def turn(self, task: str) -> None:
        assert self.process.stdin is not None
        print(task, file=self.process.stdin, flush=True)
        self.seconds.setdefault(task, []).append(float(self.answer()))

    def stop(self) -> None:
        if hasattr(self, "process"):
            self.process.kill()
            self.process.communicate()


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A checkout of an earlier commit, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="qkv-base-"))
    git = ["git", "-C", str(ROOT), "worktree"]
    made = subprocess.run(
        [*git, "add", "--detach", str(folder / "tree"), revision], capture_output=True, text=True
    )
    if made.returncode:
        shutil.rmtree(folder)
        raise QkvError(f"cannot check out {revision}: {made.stderr.strip()[-200:]}")
    try:
        yield folder / "tree"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder / "tree")], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def measure_file(versions: list[Version], options: Options, folder: Path) -> None:
    bundle, lines = options.model, folder / "lines.txt"
    texts = captions(options.lines, seed=5)
    if options.input is not None:
        texts = options.input.read_text(encoding="utf-8").splitlines()[: options.lines]
    lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
    if bundle is None:
        bundle = folder / "model"
        save_copying_model(bundle)
        save_with_shortlist(bundle, folder / "model-listed")
    try:
        for version in versions:
            version.start(bundle, lines, options.beam_size)
        for _ in range(options.rounds):
            for version in versions:
                version.turn("file")
            if options.model is None:
                versions[-1].turn("listed")
    finally:
        for version in versions:
            version.stop()
    words = sum(len(text.split()) for text in texts)
    for version in versions:
        for task, seconds in version.seconds.items():
            print(
                f"{version.name}, {task}: {words / median(seconds):,.0f} words/s, best {words / min(seconds):,.0f}"
            )


def measure_training(versions: list[Version], options: Options, folder: Path) -> None:
    files = folder / "text.source", folder / "text.target"
    for path, texts in zip(files, made_up(random.Random(1), 3_000), strict=True):
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    trainers: list[Ours] = []
    try:
        for number, version in enumerate(versions):
            trainer = Ours(SHAPES["tiny"], files, folder / f"training-{number}", "muon", version.environment)
            trainers.append(trainer)
            trainer.hold()
        for trainer in trainers:
            trainer.make_ready(5)
        for _ in range(options.training_rounds):
            for version, trainer in zip(versions, trainers, strict=True):
                tokens, seconds = trainer.turn(options.seconds)
                version.speeds.append(tokens / seconds)
    finally:
        for trainer in trainers:
            end(trainer.processes)
    for version in versions:
        print(f"{version.name}, training: {median(version.speeds):,.0f} tokens/s")


def ratio(versions: list[Version], task: str) -> float:
    """The median over rounds: turns next to each other have the same neighbours on the machine."""
    before, after = versions[0].seconds["file"], versions[1].seconds[task]
    return median(one / other for one, other in zip(before, after, strict=True))


def run(options: Options) -> None:
    with worktree(options.base) as tree, tempfile.TemporaryDirectory(prefix="qkv-small-") as name:
        versions = [Version(options.base, tree), Version("this version", ROOT)]
        measure_file(versions, options, Path(name))
        last = f"ratio file {ratio(versions, 'file'):.2f}"
        if "listed" in versions[1].seconds:
            print(f"with a shortlist: ratio file {ratio(versions, 'listed'):.2f}")
        if options.training_rounds:
            measure_training(versions, options, Path(name))
            pairs = zip(versions[0].speeds, versions[1].speeds, strict=True)
            last += f" training {median(after / before for before, after in pairs):.2f}"
    print(last)


if __name__ == "__main__":
    try:
        run(read_options(Options, sys.argv[1:], prog="benchmarks/small.py", description=__doc__))
    except QkvError as error:
        sys.exit(fail(str(error)))
