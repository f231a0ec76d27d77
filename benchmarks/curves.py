"""Quality against minutes of training: the points, what they say, and how people see them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from qkv.checkpoint.files import read_json, write_json
from qkv.errors import QkvError
from qkv.pictures import new_figure

OURS = "ours"


@dataclass(frozen=True, kw_only=True)
class Point:
    minutes: float  # of training; the time that scoring takes is not in it
    valid: float  # BLEU
    test: float  # BLEU
    weights: str  # which of the weights at hand were best on the validation part


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One training run, with the points in the order of time."""

    about: str
    seed: int
    minutes: float  # that it was given; it may have ended sooner by itself
    measured: Mapping[str, Any]  # on what, with what, and how
    parameters: int
    tokens_per_second: float  # target tokens, padding not counted
    points: Sequence[Point]

    @property
    def length(self) -> float:
        return self.points[-1].minutes


def minutes_to(points: Sequence[Point], level: float) -> float | None:
    """When the test BLEU first crosses a level, on straight lines between the points; None where it never does.

    Nothing is known before the first point: a level that it has reached already counts from there.
    """
    before: Point | None = None
    for point in points:
        if point.test >= level:
            if before is None:
                return point.minutes
            share = (level - before.test) / (point.test - before.test)
            return before.minutes + share * (point.minutes - before.minutes)
        before = point
    return None


def best_point(points: Sequence[Point]) -> Point:
    """Chosen on the validation part alone."""
    return max(points, key=lambda point: point.valid)


def spread(times: Mapping[int, float], count: int) -> list[int]:
    """The keys of about `count` times, evenly spaced, the last one among them."""
    if not times:
        return []
    end = max(times.values())
    wanted = [end * (number + 1) / count for number in range(count)]
    nearest = {min(times, key=lambda key: abs(times[key] - time)) for time in wanted}
    return sorted(nearest, key=lambda key: times[key])


def minutes_cell(curve: Curve, level: float) -> str:
    minutes = minutes_to(curve.points, level)
    return f"not in its {curve.length:.0f} minutes" if minutes is None else f"{minutes:.1f}"


def advantage(curve: Curve, peer: Curve, level: float) -> str:
    """How many times sooner than the peer; where the peer never gets there, its length is a bound."""
    own, other = minutes_to(curve.points, level), minutes_to(peer.points, level)
    if own is None:
        return "neither gets there" if other is None else "only the other gets there"
    if other is None:
        return f"above {peer.length / own:.2f} ×"
    return f"{other / own:.2f} ×"


def curves_table(curves: Mapping[str, Curve], levels: Sequence[float], chosen_on: int) -> Table:
    headings = [
        "parameters",
        "tokens/s",
        *[f"minutes to {level:g}" for level in levels],
        f"best on {chosen_on} of val",
        "its test2016",
    ]
    table = Table("system", *headings, title="Multi30k en-de, BLEU of lower-cased tokenized text, beam 5")
    for name, curve in curves.items():
        best = best_point(curve.points)
        table.add_row(
            name,
            f"{curve.parameters:,}",
            f"{curve.tokens_per_second:,.0f}",
            *[minutes_cell(curve, level) for level in levels],
            f"{best.valid:.2f}",
            f"{best.test:.2f}",
        )
    return table


def ratios_table(curves: Mapping[str, Curve], levels: Sequence[float]) -> Table | None:
    """Ours against each of the others; None where there is nothing to compare."""
    others = {name: curve for name, curve in curves.items() if name != OURS}
    if OURS not in curves or not others:
        return None
    own = curves[OURS]
    headings = [f"sooner at {level:g}" for level in levels]
    table = Table(
        "ours against", "tokens/s", *headings, title="More than 1: ours is faster, or gets there sooner"
    )
    for name, peer in others.items():
        speed = f"{own.tokens_per_second / peer.tokens_per_second:.2f} ×"
        table.add_row(name, speed, *[advantage(own, peer, level) for level in levels])
    return table


def curves_picture(path: Path, curves: Mapping[str, Curve], published: float) -> None:
    figure = new_figure(7.5, 4.5)
    axes = figure.add_subplot()
    for name, curve in curves.items():
        minutes, scores = [p.minutes for p in curve.points], [p.test for p in curve.points]
        axes.plot(minutes, scores, "o-", markersize=4, label=name)
    axes.axhline(published, linestyle=":", color="black", label=f"published, {published:g}")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("test2016 BLEU, beam 5")
    axes.set_title("Multi30k en-de, lower-cased and tokenized: quality against time")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def write_results(path: Path, curves: Mapping[str, Curve]) -> None:
    write_json(path, {"systems": {name: asdict(curve) for name, curve in curves.items()}})


def read_curves(path: Path) -> dict[str, Curve]:
    stored = read_json(path)
    try:
        return {
            name: Curve(**{**curve, "points": [Point(**point) for point in curve["points"]]})
            for name, curve in stored["systems"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise QkvError(f"{path} does not hold results of this benchmark ({error}).") from None


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
