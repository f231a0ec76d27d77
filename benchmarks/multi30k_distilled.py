"""Multi30k en-de with untranslated captions: how good is a student of at most 2.6 M parameters?

    python benchmarks/multi30k_distilled.py --data DIR --captions FILE --out runs/multi30k-distilled

runs, one after another, with the commands of qkv:

  teachers   `qkv train translator --recipe multi30k-tiny` with different seeds
  reverse    the same from German to English; it scores translations
  without    `qkv distill` on the training pairs alone
  captions   `qkv distill` on the training pairs and the captions, translated by all teachers as an ensemble

Several --try="OPTIONS" give several settings of the students. The first seed of each is trained; val decides, and only the best one
gets the other seeds. test2016 is scored for the table and chooses nothing. Captions that occur in val or in a test part are
removed by `qkv distill`. BLEU is lower-cased and tokenized (sacrebleu, tokenize none), beam 5.

Every stage is a folder in --out. A stage that is complete is not repeated, and one that was stopped or killed resumes, so the
same command can be given again at any time. All output of the commands is in OUT/log.txt, the figures are in OUT/results.json.
`--scale 0.01 --lines 500` is a trial run of some minutes.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any

from qkv.checkpoint.files import read_json, write_json
from qkv.cli import fail
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Flag, Repeated
from qkv.progress.terminal import say

MOST_PARAMETERS = 2_600_000
TEST = "test_2016_flickr"
RECIPE = "multi30k-tiny"


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Annotated[Path, Flag(metavar="DIR")]
    """Folder with Multi30k, with the files *.lc.norm.tok.en and .de."""
    captions: Annotated[Path, Flag(metavar="FILE")]
    """English captions without translations, lower-cased and tokenized."""
    german_captions: Annotated[Path | None, Flag(metavar="FILE")] = None
    """German captions to back-translate; by default none."""
    out: Annotated[Path, Flag(metavar="DIR")] = Path("runs/multi30k-distilled")
    """Folder for models, translations, the log and the results."""
    teachers: int = 3
    """Number of teachers, each with its own seed."""
    seeds: int = 3
    """Seeds of the students."""
    teacher_options: str = ""
    """More options of `qkv train translator` for the teachers, as in --teacher-options="--width 192 --ffn-width 384"."""
    teacher_steps: int = 5_000
    """Steps of each teacher and of the reverse model."""
    student_steps: int = 15_000
    """Steps of a student that learns from captions."""
    without_steps: int = 8_000
    """Steps of a student that learns from the training pairs alone."""
    distill_options: str = ""
    """More options of `qkv distill` for all students, as in --distill-options="--reverse-drop 0.1"."""
    try_: Annotated[Repeated[tuple[str, ...]], Flag(name="try")] = ("",)
    """Settings of the students to choose from, as in --try="--dropout 0.15". Can be given several times."""
    scale: float = 1.0
    """All numbers of steps are multiplied by this."""
    lines: int = 0
    """Use only this many captions; 0 for all."""
    processes: int = 0
    """Processes of a training run; 0 chooses the number."""


@dataclass(frozen=True)
class Log:
    """Runs commands; what they print goes to a file."""

    path: Path

    def run(self, name: str, *arguments: str | Path) -> float:
        """The minutes that a command takes. If it fails, the end of the log says why."""
        command = [sys.executable, "-m", "qkv", *map(str, arguments)]
        began = time.monotonic()
        say(f"{time.strftime('%H:%M:%S')} {name}")
        with open(self.path, "a", encoding="utf-8") as log:
            log.write(f"\n{time.strftime('%F %T')} {name}\n{shlex.join(command)}\n")
            log.flush()
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        if code in (130, 143):
            raise KeyboardInterrupt
        if code:
            raise QkvError(f"{name} ended with exit code {code}. The end of {self.path} says why.")
        return (time.monotonic() - began) / 60


@dataclass(frozen=True)
class Bench:
    options: Options

    @property
    def log(self) -> Log:
        return Log(self.options.out / "log.txt")

    def steps(self, count: int) -> list[str]:
        return ["--steps", str(max(2, round(self.options.scale * count)))]

    @property
    def shared(self) -> list[str]:
        """Options of every command that trains."""
        options = self.options
        return ["--data", str(options.data), "--recipe", RECIPE, "--processes", str(options.processes)]

    # Stages --------------------------------------------------------------------------------------------------

    def train(self, name: str, *more: str) -> Path:
        """A teacher or the reverse model. The report is written last, so it shows that a run is complete."""
        out = self.options.out / name
        if not (out / "report.json").exists():
            given = [
                *self.shared,
                *self.steps(self.options.teacher_steps),
                *shlex.split(self.options.teacher_options),
            ]
            self.log.run(name, "train", "translator", *given, *more, "--output", out, "--resume")
        return out

    def teachers(self) -> list[Path]:
        return [
            self.train(f"teacher-{seed}", "--seed", str(seed)) for seed in range(1, self.options.teachers + 1)
        ]

    def reverse(self) -> Path:
        return self.train("reverse", "--source-language", "de", "--target-language", "en")

    def captions(self) -> Path:
        """The captions, or the first of them for a trial."""
        options = self.options
        if not options.lines:
            return options.captions
        path = options.out / f"captions-{options.lines}.en"
        lines = options.captions.read_text(encoding="utf-8").splitlines()[: options.lines]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def student(
        self, name: str, settings: str, seed: int, models: Sequence[Path], *more: str | Path
    ) -> dict[str, Any]:
        """The report of a student. All students share the translations in OUT/work."""
        options = self.options
        out = options.out / f"{name}-seed-{seed}"
        report = out / "report.json"
        if not report.exists() or "distillation" not in read_json(report):
            given = [
                *self.shared,
                "--seed",
                str(seed),
                "--work",
                str(options.out / "work"),
                "--output",
                str(out),
            ]
            extra = [*shlex.split(options.distill_options), *shlex.split(settings)]
            self.log.run(f"{name}, seed {seed}", "distill", *models, *given, *more, *extra)
        found: dict[str, Any] = read_json(report)
        if found["parameters"] > MOST_PARAMETERS:
            raise QkvError(
                f"{out} has {found['parameters']:,} parameters; at most {MOST_PARAMETERS:,} are allowed."
            )
        return found

    def students(self, name: str, models: Sequence[Path], *more: str | Path) -> list[dict[str, Any]]:
        """All seeds of the setting that is best on val with the first seed."""
        tried = [
            self.student(f"{name}-{number}", settings, 1, models, *more)
            for number, settings in enumerate(self.options.try_, 1)
        ]
        best = best_on_val(tried)
        say(
            f"{name}: val chose setting {best + 1} of {len(tried)}: {self.options.try_[best] or 'the recipe'}"
        )
        rest = range(2, self.options.seeds + 1)
        name, settings = f"{name}-{best + 1}", self.options.try_[best]
        return [tried[best], *(self.student(name, settings, seed, models, *more) for seed in rest)]

    def run(self) -> dict[str, Any]:
        options = self.options
        options.out.mkdir(parents=True, exist_ok=True)
        teachers, reverse = self.teachers(), ["--reverse", self.reverse()]
        without = self.students("without", teachers, *reverse, *self.steps(options.without_steps))
        target = [] if options.german_captions is None else ["--target-text", options.german_captions]
        given = ["--text", self.captions(), *target, *reverse, *self.steps(options.student_steps)]
        captions = self.students("captions", teachers, *given)
        singles = [read_json(path / "report.json") for path in teachers]
        return {
            "teacher (mean)": row(singles, teacher_scores),
            "ensemble of teachers": row(captions[:1], ensemble_scores),
            "student without captions": row(without, student_scores),
            "student with untranslated captions": row(captions, student_scores),
        }


# Figures -----------------------------------------------------------------------------------------------------


def best_on_val(reports: Sequence[Mapping[str, Any]]) -> int:
    """The place of the report with the highest BLEU on val."""
    scores = [student_scores(report)["val"] for report in reports]
    return scores.index(max(scores))


def teacher_scores(report: Mapping[str, Any]) -> dict[str, float]:
    return {"val": report["validation"]["bleu"]["value"], "test2016": report["tests"][TEST]["bleu"]["value"]}


def ensemble_scores(report: Mapping[str, Any]) -> dict[str, float]:
    return compared(report, "teachers")


def student_scores(report: Mapping[str, Any]) -> dict[str, float]:
    return compared(report, "student")


def compared(report: Mapping[str, Any], who: str) -> dict[str, float]:
    sets = report["distillation"]["sets"]
    return {"val": sets["valid"][who]["bleu"]["value"], "test2016": sets[TEST][who]["bleu"]["value"]}


def row(reports: Sequence[Mapping[str, Any]], scores_of: Any) -> dict[str, Any]:
    """The mean over several models, and how much they differ."""
    each = [scores_of(report) for report in reports]
    tests = [scores["test2016"] for scores in each]
    return {
        "models": len(reports),
        "parameters": reports[0]["parameters"] if scores_of is not ensemble_scores else None,
        "val": fmean(scores["val"] for scores in each),
        "test2016": fmean(tests),
        "spread": stdev(tests) if len(tests) > 1 else 0.0,
        "each": tests,
    }


def show(rows: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("system", "models", "parameters", "BLEU val", "BLEU test2016", "±")
    for name, found in rows.items():
        size = "" if found["parameters"] is None else f"{found['parameters']:,}"
        figures = (f"{found['val']:.2f}", f"{found['test2016']:.2f}", f"{found['spread']:.2f}")
        table.add_row(name, str(found["models"]), size, *figures)
    Console(highlight=False, width=110).print(table)


def main() -> None:
    try:
        options = read_options(
            Options, sys.argv[1:], prog="benchmarks/multi30k_distilled.py", description=__doc__ or ""
        )
        rows = Bench(options).run()
        write_json(options.out / "results.json", rows)
        show(rows)
    except QkvError as error:
        sys.exit(fail(str(error)))
    except KeyboardInterrupt:
        fail("stopped; the same command resumes.")
        sys.exit(130)


if __name__ == "__main__":
    main()
