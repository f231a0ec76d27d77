"""One station as a PNG, for slides. Needs matplotlib."""

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qkv.checkpoint.files import write_file
from qkv.explorer.places import CROSS, RECORDED, TABLES, TITLES, Place, check_range, find_site
from qkv.explorer.session import Explorer, TraceQuery
from qkv.pictures import new_figure
from qkv.tracing.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "cividis"  # the scale of the page
MOST_COLUMNS = 32  # of a matrix with printed numbers
LINE = 90  # characters


@dataclass(frozen=True)
class Panel:
    """A matrix with its words; weights from 0 to 1, or numbers around 0."""

    title: str
    array: Any
    rows: Sequence[str]
    columns: Sequence[str] = ()
    unit: bool = False


def write_picture(path: Path, explorer: Explorer, query: TraceQuery, place: Place) -> None:
    trace, _ = explorer.trace(query)
    figure, content = picture(trace, place), io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing"
        )  # scripts that the font lacks become boxes
        figure.savefig(content, format="png")
    write_file(path, content.getvalue())


def picture(trace: Trace, place: Place) -> "Figure":
    station, _ = find_site(trace, place)
    if station in TABLES:
        return table_picture(trace, station)
    panels = panels_of(trace, place)
    heights = [max(1.6, 0.3 * len(each.rows) + 1.2) for each in panels]
    figure = new_figure(max(map(width_of, panels)), sum(heights) + 1.2)
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        draw(figure, axis, panel)
    figure.suptitle(heading(trace, station))
    return figure


def heading(trace: Trace, station: int) -> str:
    """The station, the input and the output."""
    texts = [f"Input: {plain(trace.text)}", f"Output: {plain(trace.output)}"]
    lines = [line for text in texts for line in textwrap.wrap(text, LINE)]
    return "\n".join([f"{station}. {TITLES[station - 1]}", *lines])


def width_of(panel: Panel) -> float:
    """In inches, with room for every printed number."""
    columns = panel.array.shape[1]
    return max(9.0, 0.45 * columns + 3.0) if columns <= MOST_COLUMNS else 9.0


def draw(figure: "Figure", axes: "Axes", panel: Panel) -> None:
    finite = panel.array[np.isfinite(panel.array)]
    most = 1.0 if panel.unit else float(np.abs(finite).max(initial=1e-9))
    least = 0.0 if panel.unit else -most
    image = axes.imshow(
        np.ma.masked_invalid(panel.array), cmap=COLOURS, vmin=least, vmax=most, aspect="auto"
    )  # fmt: skip
    for row, column in np.argwhere(~np.isfinite(panel.array)):  # hatched, and not only coloured
        axes.fill(
            [column - 0.5, column + 0.5, column + 0.5, column - 0.5],
            [row - 0.5, row - 0.5, row + 0.5, row + 0.5],
            facecolor="0.92",
            edgecolor="0.5",
            hatch="////",
            linewidth=0,
        )
    if panel.array.shape[1] <= MOST_COLUMNS:
        for (row, column), value in np.ndenumerate(panel.array):
            if np.isfinite(value):
                ink = "black" if (value - least) / (most - least) > 0.52 else "white"
                axes.text(column, row, decimal(value), ha="center", va="center", fontsize=7, color=ink)
    axes.set_yticks(range(len(panel.rows)), [plain(each) for each in panel.rows])
    if panel.columns:
        axes.set_xticks(
            range(len(panel.columns)), [plain(each) for each in panel.columns], rotation=60, ha="right"
        )
    axes.set_title(panel.title, fontsize=10)
    figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)


def decimal(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def plain(text: str) -> str:
    """Escape dollars, which would start a formula; replace unprintable characters by dots."""
    visible = "".join(each if each.isprintable() else "·" for each in text.strip())
    return (visible or "␣").replace("$", r"\$")


def panels_of(trace: Trace, place: Place) -> list[Panel]:
    station, site = find_site(trace, place)
    side, name = site.side, site.attention
    rows, block = side.tokens, f"{side.name}.{place.layer}"
    keys = trace.sides[0].tokens if name == CROSS else side.tokens
    layer = f"layer {place.layer + 1}"
    where = f"{site.title}, {layer}, head {place.head + 1}"

    def of_head(part: str) -> Any:
        found = trace[f"{block}.{name}.{part}"]
        check_range("head", place.head, len(found))
        return found[place.head]

    match station:
        case 2:
            return [Panel(f"{side.name}: e", trace[f"{side.name}.tokens"], rows)]
        case 3:
            parts = ["positions", "embedded"]
            return [Panel(f"{side.name}: {part}", trace[f"{side.name}.{part}"], rows) for part in parts]
        case 4:
            words = {"query": rows, "key": keys, "value": keys}
            return [Panel(f"{part}: {where}", of_head(part), words[part]) for part in words]
        case 5 | 6 | 7:
            part = RECORDED[station]
            return [Panel(where, of_head(part), rows, keys)]
        case 8 | 15 | 16:
            generated = side.output if name == CROSS and side.output else rows
            return [Panel(where, of_head("weights"), generated, keys, unit=True)]
        case 9:
            return [Panel(where, of_head("heads"), rows)]
        case 10:
            heads = trace[f"{block}.{name}.heads"]
            joined = np.concatenate(list(heads), axis=-1)
            return [
                Panel(f"{site.title}, {layer}: heads, concatenated", joined, rows),
                Panel("output", trace[f"{block}.{name}.output"], rows),
            ]
        case 11:
            between = "normed" if side.stack["norm"] == "pre" else "sum"
            return [
                Panel(f"{site.title}, {layer}: {part}", trace[f"{block}.{name}.{part}"], rows)
                for part in ("output", between, "result")
            ]
        case 12 | 17:
            return [
                Panel(f"{side.name}, {layer}: {part}", trace[f"{block}.feed_forward.{part}"], rows)
                for part in ("hidden", "output")
            ]
        case 13:
            return [
                Panel(f"{side.name}: cosine similarity to the initial vector", *cosines(trace, side), rows)
            ]
        case _:
            return [
                Panel("memory", trace[f"{trace.sides[0].name}.output"], keys),
                *(Panel(f"{part}: {where}", of_head(part), keys) for part in ("key", "value")),
            ]


def cosines(trace: Trace, side: Any) -> tuple[Any, list[str]]:
    """Of each word's vector after every layer to the one that it began with; after LSTMs, to that of the first."""
    names = [name for name in trace.names if re.fullmatch(rf"{side.name}\.\d+\.states", name)]
    words = [f"LSTM {number + 1}" for number in range(len(names))]
    if not names:
        layers = range(side.stack["depth"])
        names = [f"{side.name}.embedded", *(f"{side.name}.{layer}.feed_forward.result" for layer in layers)]
        words = ["input", *(str(layer + 1) for layer in layers)]
    states = [trace[name] for name in names]
    return np.array([[cosine(a, b) for a, b in zip(each, states[0], strict=True)] for each in states]), words


def cosine(one: Any, other: Any) -> float:
    return float(one @ other / max(1e-12, float(np.linalg.norm(one) * np.linalg.norm(other))))


def table_picture(trace: Trace, station: int) -> "Figure":
    """Tokens with their ids; or, for each output token, its most likely alternatives."""
    if station == 1:
        lines = [
            f"{plain(token)}   {number}"
            for side in trace.sides
            for token, number in zip(side.tokens, side.ids, strict=True)
        ]
        figure = new_figure(9.0, 0.28 * len(lines) + 1.6)
        axes = figure.add_subplot()
        axes.axis("off")
        axes.text(0.0, 1.0, "\n".join(lines), va="top", family="monospace", transform=axes.transAxes)
    else:
        figure = new_figure(9.0, 0.42 * len(trace.choices) + 1.8)
        axes = figure.add_subplot()
        for row, choice in enumerate(trace.choices):
            left = 0.0
            for rank, each in enumerate(choice.candidates[:4]):
                value = each.logit if station == 18 else float(np.exp(each.log_probability))
                if station == 18:
                    axes.barh(row + 0.2 * rank - 0.3, value, height=0.18, color=f"C{rank}")
                    axes.text(
                        max(0.0, value),
                        row + 0.2 * rank - 0.3,
                        f" {plain(each.text)} {decimal(value)}",
                        va="center",
                        fontsize=7,
                    )
                else:
                    axes.barh(row, value, left=left, height=0.7, color=f"C{rank}")
                    if value > 0.15:
                        label = f"{plain(each.text)} {decimal(value)}"
                        axes.text(left + value / 2, row, label, ha="center", va="center", fontsize=8)
                    left += value
            best = choice.candidates[0]
            if station != 18 and (likely := float(np.exp(best.log_probability))) <= 0.15:
                axes.text(left, row, f" {plain(best.text)} {decimal(likely)}", va="center", fontsize=8)
        axes.set_yticks(
            range(len(trace.choices)),
            [plain(each) for each in trace.sides[-1].output or map(str, range(len(trace.choices)))],
        )
        axes.invert_yaxis()
        axes.margins(x=0.15 if station == 18 else 0.0)  # room for the last label
        axes.set_xlabel("logit" if station == 18 else "probability")
    figure.suptitle(heading(trace, station))
    return figure
