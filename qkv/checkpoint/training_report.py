"""The report and the learning curve of a training run, as Python programs and notebooks see them."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from qkv.checkpoint.files import write_file

REPORT_FILE = "report.json"
CURVE_FILE = "learning-curve.svg"
LOG_FILES = ("log.jsonl", "timing.jsonl")  # of a run, in its folder `training`
REPORT_FILES = (
    "README.md",
    "seen.safetensors",
    CURVE_FILE,
    "learning-curve.png",
    *(f"training/{name}" for name in LOG_FILES),
    REPORT_FILE,
)
"""What is known of a training. The report is last: it shows that a bundle is complete."""
WIDTH, HEIGHT, MARGIN = 480, 180, 36  # of the plot, in pixels
CURVES = {"loss": "#8c8c8c", "validation_loss": "#1f77b4"}  # and their colours


TOO_SHORT = (
    "The time limit ended training while the validation loss was still falling. Resume with more time."
)


def is_too_short(training: Any) -> bool:
    """Did the time limit end a run whose loss was still falling? `training` is that part of a report."""
    return (
        isinstance(training, Mapping)
        and training.get("ended_by") == "minutes"
        and bool(training.get("still_falling"))
    )


class TrainingReport(Mapping[str, Any]):
    """What `report.json` of a model says, with the losses of the run.

    It is a mapping: `report["training"]["steps"]`. A notebook shows it as a table with the learning curve.

    Example:
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "max_length": 8, "processes": 1, "progress": False}
        >>> report = qkv.train_gpt(["one two three " * 40], output="runs/tiny", **tiny).report
        >>> report["training"]["steps"]
        2
        >>> [sorted(row) for row in report.history if "validation_loss" in row][-1]
        ['seconds', 'step', 'validation_loss']
    """

    def __init__(self, facts: Mapping[str, Any], history: Sequence[Mapping[str, float]]):
        self.facts = dict(facts)
        self.history = [dict(row) for row in history]
        """The lines of the log: step, loss or validation_loss, learning_rate, tokens, tokens_per_second, seconds."""

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """The report of the model in a folder. What is missing there is empty."""
        folder = Path(folder)
        try:
            facts = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            facts = {}
        return cls(facts if isinstance(facts, dict) else {}, history_of(folder / "training"))

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def advice(self) -> list[str]:
        """What to do for a better model, in sentences. Empty if there is nothing to say."""
        training = self.facts.get("training", {})
        given = [str(each) for each in self.facts.get("advice", [])]
        return [TOO_SHORT, *given] if is_too_short(training) else given

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries and lists."""
        return dict(self.facts)

    def __repr__(self) -> str:
        return f"TrainingReport({', '.join(f'{name}: {value}' for name, value in self.headlines().items())})"

    def headlines(self) -> dict[str, str]:
        """The most important facts, for people."""
        training = self.facts.get("training", {})
        found = {name: str(training[name]) for name in ("steps", "minutes", "ended_by") if name in training}
        if "weights" in training:
            found["kept"] = str(training["weights"])
        for name in ("bleu", "chrf"):
            value = self.facts.get("validation", {}).get(name)
            if isinstance(value, dict):
                found[f"validation {name}"] = f"{value['value']:.1f}"
        found |= {name: str(value) for name, value in self.facts.get("results", {}).items()}
        return {**found, **({"advice": " ".join(self.advice)} if self.advice else {})}

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align: left'>{html.escape(name)}</th>"
            f"<td style='text-align: left'>{html.escape(value)}</td></tr>"
            for name, value in self.headlines().items()
        )
        return f"<table>{rows}</table>{learning_curve_svg(self.history)}"


def copy_report(source: Path, folder: Path) -> None:
    """Copy the report of a model, its card, the log of its training and the fingerprints of its data, if there are any."""
    if not (source / REPORT_FILE).is_file() or source.resolve() == folder.resolve():
        return
    for name in REPORT_FILES:
        if (source / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            write_file(folder / name, (source / name).read_bytes())


def history_of(training: Path) -> list[dict[str, float]]:
    """The log and the timing of a run, line by line. Lines that cannot be read are left out."""
    log, timing = (rows_of(training / name) for name in LOG_FILES)
    if len(log) == len(timing) and all(a["step"] == b["step"] for a, b in zip(log, timing, strict=True)):
        return [a | b for a, b in zip(log, timing, strict=True)]
    return log


def rows_of(path: Path) -> list[dict[str, float]]:
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:  # half a line of a run that was killed
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            found.append(row)
    return found


def learning_curve_svg(history: Sequence[Mapping[str, float]]) -> str:
    """Training and validation loss against steps, as a small drawing. Empty if there are fewer than two points."""
    points = {name: [(row["step"], row[name]) for row in history if name in row] for name in CURVES}
    everything = [point for each in points.values() for point in each]
    if len(everything) < 2:
        return ""
    last = max(step for step, _ in everything)
    low, high = min(loss for _, loss in everything), max(loss for _, loss in everything)

    def place(step: float, loss: float) -> tuple[float, float]:
        across = MARGIN + (WIDTH - 2 * MARGIN) * step / max(1, last)
        down = MARGIN / 2 + (HEIGHT - 1.5 * MARGIN) * (high - loss) / max(1e-9, high - low)
        return round(across, 1), round(down, 1)

    parts = [
        line_of([place(*point) for point in points[name]], colour)
        for name, colour in CURVES.items()
        if points[name]
    ]
    bottom = HEIGHT - MARGIN
    parts += [
        text_at(2, MARGIN / 2 + 4, f"{high:.3g}"),
        text_at(2, bottom, f"{low:.3g}"),
        text_at(MARGIN, HEIGHT - 18, "0"),
        text_at(WIDTH - 2 * MARGIN, HEIGHT - 18, f"{last:,} steps"),
        text_at(MARGIN, HEIGHT - 4, "training loss", CURVES["loss"]),
        text_at(MARGIN + 110, HEIGHT - 4, "validation loss", CURVES["validation_loss"]),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="learning curve" font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def line_of(places: Sequence[tuple[float, float]], colour: str) -> str:
    if len(places) == 1:
        return f'<circle cx="{places[0][0]}" cy="{places[0][1]}" r="3" fill="{colour}"/>'
    joined = " ".join(f"{across},{down}" for across, down in places)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def text_at(across: float, down: float, text: str, colour: str = "#555") -> str:
    return f'<text x="{across:g}" y="{down:g}" fill="{colour}">{html.escape(text)}</text>'
