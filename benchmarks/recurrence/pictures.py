"""What was measured, as tables and pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from qkv.pictures import new_figure

Results = Mapping[str, Any]  # as results.json has them


def speed_tables(results: Results) -> list[Table]:
    found = []
    for work, rows in results["works"].items():
        table = Table(
            "words a side", "transformer", "recurrent", "transformer / recurrent", title=f"{work}: tokens/s"
        )
        for row in rows:
            rates = row["tokens_per_second"]
            table.add_row(
                f"{row['length']}",
                *(f"{rates[kind]:,.0f}" for kind in ("transformer", "recurrent")),
                f"{rates['transformer'] / rates['recurrent']:.2f} ×",
            )
        found.append(table)
    return found


def speed_picture(path: Path, results: Results) -> None:
    works = results["works"]
    figure = new_figure(4.2 * len(works), 4.0)
    for place, (work, rows) in enumerate(works.items()):
        axes = figure.add_subplot(1, len(works), place + 1)
        lengths = [row["length"] for row in rows]
        for kind in ("transformer", "recurrent"):
            rates = [row["tokens_per_second"][kind] for row in rows]
            axes.plot(lengths, rates, "o-", markersize=4, label=kind)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.set_yscale("log")
        for axis in ("major", "minor"):
            getattr(axes.yaxis, f"set_{axis}_formatter")("{x:,.0f}")
        axes.set_title(work, fontsize=10)
        axes.set_xlabel("words a side")
        axes.set_ylabel("tokens/s")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    weights = ", ".join(f"{kind} {count:,}" for kind, count in results["weights"].items())
    figure.suptitle(f"Speed as sentences grow (weights besides the words: {weights})")
    figure.savefig(path)


MEASURES = {
    "contested": "pronouns right where two nouns compete",
    "pronouns": "all pronouns right",
    "exact": "whole sentence right",
}


def distance_tables(results: Results) -> list[Table]:
    models: Mapping[str, Sequence[Mapping[str, float]]] = results["models"]
    found = []
    for measure, title in MEASURES.items():
        table = Table(
            "clauses between", "words between", *models, title=f"{title}, % (* farther than training shows)"
        )
        for place, row in enumerate(next(iter(models.values()))):
            beyond = "*" if row["clauses"] > max(results["shown"]) else ""
            cells = (f"{rows[place][measure]:.1f}" for rows in models.values())
            table.add_row(f"{row['clauses']}{beyond}", f"{row['words']:.0f}", *cells)
        found.append(table)
    return found


def distance_picture(path: Path, results: Results) -> None:
    figure = new_figure(4.4 * len(MEASURES), 4.0)
    for place, (measure, title) in enumerate(MEASURES.items()):
        axes = figure.add_subplot(1, len(MEASURES), place + 1)
        for name, rows in results["models"].items():
            axes.plot(
                [row["words"] for row in rows], [row[measure] for row in rows], "o-", markersize=4, label=name
            )
        shown = [row["words"] for row in rows if row["clauses"] <= max(results["shown"])]
        axes.axvspan(0, shown[-1], alpha=0.08, color="black", label="distances shown in training")
        axes.set_ylim(0, 101)
        axes.set_xlim(left=0)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("words between noun and pronoun")
        axes.set_ylabel("%")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    figure.suptitle("Built-in English to German: the farther the pronoun from its noun")
    figure.savefig(path)


def damage_tables(results: Results) -> list[Table]:
    titles = {
        "words": "words of the translation that can still be known, F1",
        "exact": "equal to the translation of the whole sentence, %",
        "unchanged": "the same answer as for the whole sentence, %",
    }
    models = results["models"]
    kinds = list(next(iter(models.values())))
    found = []
    for measure, title in titles.items():
        table = Table("model", *kinds, title=title)
        for name, by_kind in models.items():
            table.add_row(name, *(f"{by_kind[kind][measure]:.1f}" for kind in kinds))
        found.append(table)
    return found


def damage_picture(path: Path, results: Results) -> None:
    models = results["models"]
    kinds = list(next(iter(models.values())))
    figure = new_figure(11.0, 4.2)
    for place, (measure, title) in enumerate(
        [("words", "words that can still be known, F1"), ("unchanged", "answers that stay the same, %")]
    ):
        axes = figure.add_subplot(1, 2, place + 1)
        wide = 0.8 / len(models)
        for number, (name, by_kind) in enumerate(models.items()):
            places = [kind + number * wide for kind in range(len(kinds))]
            axes.bar(places, [by_kind[kind][measure] for kind in kinds], wide, label=name)
        middle = 0.4 - wide / 2
        axes.set_xticks([kind + middle for kind in range(len(kinds))], kinds, rotation=20, ha="right")
        axes.set_ylim(0, 118)  # with room for the names
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3, axis="y")
        axes.legend(fontsize=8, ncols=len(models), loc="upper center", handlelength=1, columnspacing=1)
    figure.suptitle("Sequences as deck 004 has them: trimmed, with words left out, permuted")
    figure.savefig(path)
