"""The tables of a report on translations, as `qkv evaluate` prints them."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from qkv.evaluation.significance import FEWEST, NAMES
from qkv.progress.terminal import escape_markup

if TYPE_CHECKING:
    from qkv.evaluation.evaluation import Against, Evaluation
    from qkv.evaluation.overlap import Overlap
    from qkv.evaluation.scores import Score, TranslationScores
    from qkv.evaluation.sentences import LengthBucket, WorstSentence


def page(
    evaluation: Evaluation, facts: dict[str, Any], names: tuple[str, str], *, terminal: bool = False
) -> str:
    """The whole output. Only a terminal gets colors and its own width."""
    console = new_console(terminal)
    with console.capture() as captured:
        line(console, summary(evaluation.scores.sentences, facts))
        show_scores(console, evaluation)
        if evaluation.against is not None:
            show_against(console, evaluation.against, names, evaluation.overlap)
        show_lengths(console, evaluation.by_length, facts["by_length"])
        show_worst(console, evaluation.worst, facts["worst"], facts["places"])
    return "".join(f"{text.rstrip()}\n" for text in captured.get().splitlines())


def comparison_page(against: Against, names: tuple[str, str], overlap: Overlap | None) -> str:
    """The part of the output about another system."""
    console = new_console(terminal=False)
    with console.capture() as captured:
        show_against(console, against, names, overlap)
    return "".join(f"{text.rstrip()}\n" for text in captured.get().strip().splitlines())


def new_console(terminal: bool) -> Console:
    if terminal:
        return Console(file=sys.stdout, highlight=False, emoji=False)
    # Without these two, rich writes control sequences in a notebook, and an empty output below the cell.
    return Console(
        file=io.StringIO(), highlight=False, emoji=False, width=200, color_system=None, force_jupyter=False
    )


def line(console: Console, text: str, style: str = "") -> None:
    """Print one line without wrapping."""
    console.print(escape_markup(text), soft_wrap=True, style=style)


def heading(console: Console, text: str) -> None:
    console.print()
    line(console, text, "bold")


def table_of(rows: Sequence[Sequence[str]], *columns: str) -> Table:
    """The first column is text, the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for number, name in enumerate(columns):
        table.add_column(escape_markup(name), justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def summary(sentences: int, facts: dict[str, Any]) -> str:
    model, (fewest, most) = facts["model"], facts["references_each"]
    count = str(most) if fewest == most else f"{fewest} to {most}"
    counted = f"{sentences:,} sentences with {count} {'reference' if most == 1 else 'references'} each"
    if model["kind"] == "file":
        return f"{counted}, translations of {model['path']}"
    if model["kind"] == "list":
        return counted
    beam = f"beam {model['beam_size']}, length penalty {model['length_penalty']:g}"
    return f"{counted}, translated by {model['path']} with {beam}"


# The scores --------------------------------------------------------------------------------------------------


def show_scores(console: Console, evaluation: Evaluation) -> None:
    scores, without, overlap = evaluation.scores, evaluation.without_seen, evaluation.overlap
    columns = ["", "score", "95 % interval"]
    if without is not None:
        columns.append("unseen only")
    console.print()
    console.print(table_of(score_rows(scores, without), *columns))
    if scores.sentences < FEWEST:
        line(console, f"Fewer than {FEWEST} sentences: the true intervals are wider.")
    if overlap is not None:
        line(console, seen_sentence(overlap))
    console.print()
    for key, score in by_measure(scores).items():
        line(console, f"{NAMES[key]:<5} {score.signature}")


def score_rows(scores: TranslationScores, without: TranslationScores | None) -> list[list[str]]:
    rest = {} if without is None else by_measure(without)
    rows = []
    for key, score in by_measure(scores).items():
        row = [NAMES[key], f"{score.value:.2f}", interval(score)]
        rows.append([*row, f"{rest[key].value:.2f}"] if rest else row)
    exact = ["exact match", percent(scores.exact_match), ""]
    return [*rows, exact if without is None else [*exact, percent(without.exact_match)]]


def by_measure(scores: TranslationScores) -> dict[str, Score]:
    found = {key: getattr(scores, key) for key in NAMES}
    return {key: score for key, score in found.items() if score is not None}


def interval(score: Score) -> str:
    return "" if score.interval is None else f"{score.interval.low:.2f} – {score.interval.high:.2f}"


def percent(share: float) -> str:
    return f"{share:.1f} %"


def seen_sentence(overlap: Overlap) -> str:
    if not overlap.lines:
        return "None of the sentences occurs in the training data."
    same = len(overlap.same_translation)
    return f"{len(overlap.lines):,} of the sentences occur in the training data, {same:,} with the same translation."


def show_against(console: Console, against: Against, names: tuple[str, str], overlap: Overlap | None) -> None:
    heading(console, f"Against {names[1]}")
    console.print(table_of(difference_rows(against), "", *names, "difference", "p"))
    for each in against.differences.values():
        line(console, each.meaning(*names))
    seen = seen_in_comparison(against, overlap)
    if seen:
        line(console, seen)


def difference_rows(against: Against) -> list[list[str]]:
    return [
        [
            each.measure,
            f"{each.model:.2f}",
            f"{each.against:.2f}",
            f"{each.difference:+.2f}",
            "" if each.p_value is None else f"{each.p_value:.3f}",
        ]
        for each in against.differences.values()
    ]


def seen_in_comparison(against: Against, overlap: Overlap | None) -> str:
    """A sentence about sentences of the training data; empty if there are none."""
    seen = {place for each in (overlap, against.overlap) if each is not None for place in each.lines}
    if not seen:
        return ""
    return f"The comparison counts {len(seen):,} sentence{'' if len(seen) == 1 else 's'} that one of the two saw in training."


# Weaknesses --------------------------------------------------------------------------------------------


def show_lengths(console: Console, buckets: Sequence[LengthBucket], measured_on: str) -> None:
    heading(console, f"By length, in {measured_on}")
    console.print(table_of(length_rows(buckets), "words", "sentences", "BLEU", "chrF", "length ratio"))


def length_rows(buckets: Sequence[LengthBucket]) -> list[list[str]]:
    return [
        [
            bucket.words,
            f"{bucket.sentences:,}",
            f"{bucket.bleu:.2f}",
            f"{bucket.chrf:.2f}",
            f"{bucket.length_ratio:.2f}",
        ]
        for bucket in buckets
    ]


def show_worst(console: Console, sentences: Sequence[WorstSentence], measure: str, place: str) -> None:
    if sentences:
        heading(console, f"The worst {len(sentences)} by {measure}")
    for each in sentences:
        line(console, f"{place} {each.line:,}, {each.score:.1f}")
        if each.source is not None:
            line(console, f"  source       {each.source}")
        for reference in each.references:
            line(console, f"  reference    {reference}")
        line(console, f"  translation  {each.translation}")
