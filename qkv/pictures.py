"""Plots: attention as a heat map, and the learning curve of a run. Needs matplotlib."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qkv.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qkv.families.translator.pipeline import AttentionMap

COLOURS = "viridis"  # perceptually uniform, and readable for colour-blind people


def figure_class() -> "type[Figure]":
    """matplotlib's Figure, or an error if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", package="matplotlib", extra="pictures") from None
    return Figure


def new_figure(width: float, height: float) -> "Figure":
    """A figure without global state or a window."""
    return figure_class()(figsize=(width, height), layout="constrained", dpi=150)


def attention_picture(path: Path, attention: "AttentionMap") -> None:
    """One panel per block: the mean of its heads, with a row for each output word and a column for each source word."""
    panels = attention.weights.mean(axis=1)  # (blocks, T, S)
    across, down = 0.55 * len(attention.source) + 1.6, 0.42 * len(attention.target) + 1.4
    figure = new_figure(max(6.0, across * len(panels)), max(3.0, down))
    for index, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), index + 1)
        image = axes.imshow(panel.tolist(), cmap=COLOURS, vmin=0.0, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(attention.source)), attention.source, rotation=60, ha="right")
        axes.set_yticks(range(len(attention.target)), attention.target)
        axes.set_title(f"decoder block {index + 1}, mean of {attention.weights.shape[1]} heads", fontsize=10)
        axes.set_xlabel("source word")
        if index == 0:
            axes.set_ylabel("output word")
    figure.colorbar(image, ax=figure.axes, label="attention weight", shrink=0.8)
    figure.suptitle("Encoder-decoder attention")
    figure.savefig(path)


def learning_curve_picture(path: Path, training: Path) -> None:
    """Training and validation loss against steps, from the logs in a run's folder.

    If the run logged an accuracy, a second panel shows it against minutes.
    """
    rows, clock = lines_of(training / "log.jsonl"), lines_of(training / "timing.jsonl")
    newest = {
        row["step"]: row for row in lines_of(training / "accuracy.jsonl")
    }  # a resumed run logs some steps twice
    accuracies = [newest[step] for step in sorted(newest)]
    minutes = max((row["seconds"] for row in clock), default=0.0) / 60
    figure = new_figure(12.0 if accuracies else 7.0, 4.0)
    from matplotlib.ticker import LogLocator  # after figure_class() has checked for matplotlib

    axes = figure.add_subplot(1, 2 if accuracies else 1, 1)
    for key, label, style in [
        ("loss", "training (dropout and label smoothing included)", "-"),
        ("validation_loss", "validation", "o-"),
    ]:
        points = [(row["step"], row[key]) for row in rows if key in row]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label, markersize=4)
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats)")
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(LogLocator(subs=(1.5, 2, 3, 4, 5, 7)))
    for place in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        place("{x:g}")  # not as powers of ten, which are too far apart here
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    axes.set_title(f"Learning curve, {minutes:.1f} minutes")
    if accuracies:
        axes = figure.add_subplot(1, 2, 2)
        axes.plot([row["minutes"] for row in accuracies], [100 * row["accuracy"] for row in accuracies], "o-")
        axes.set_xlabel("minutes")
        axes.set_ylabel("validation accuracy (%)")
        axes.grid(alpha=0.3)
        axes.set_title(f"Accuracy, {100 * accuracies[-1]['accuracy']:.2f} % at the end")
    figure.savefig(path)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a log. A missing log has none, and a truncated line is skipped."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


@dataclass(frozen=True)
class Exhibit:
    """Images of one kind, for a sheet."""

    title: str
    captions: Sequence[str]
    pictures: Sequence[NDArray[np.uint8]]  # (3, side, side)


def sheet_picture(path: Path, exhibits: Sequence[Exhibit], across: int = 6) -> None:
    """Images with their captions, one kind below the other, each under its title."""
    import textwrap

    rows = sum(math.ceil(len(exhibit.pictures) / across) for exhibit in exhibits)
    figure = new_figure(1.7 * across, 2.1 * rows + 0.5 * len(exhibits))
    ratios = [math.ceil(len(each.pictures) / across) for each in exhibits]
    parts = figure.subfigures(len(exhibits), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for part, exhibit in zip(parts, exhibits, strict=True):
        part.suptitle(exhibit.title, fontsize=11, fontweight="bold")
        down = math.ceil(len(exhibit.pictures) / across)
        for place, axes in enumerate(part.subplots(down, across, squeeze=False).flat):
            axes.set_axis_off()
            if place < len(exhibit.pictures):
                axes.imshow(exhibit.pictures[place].transpose(1, 2, 0), interpolation="nearest")
                axes.set_title("\n".join(textwrap.wrap(exhibit.captions[place], 24)), fontsize=6)
    figure.savefig(path)
