"""Tables of scores for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qkv import html
from qkv.evaluation.significance import FEWEST
from qkv.families.translator.score_tables import (
    difference_rows,
    length_rows,
    score_rows,
    seen_in_comparison,
    seen_sentence,
    summary,
)

if TYPE_CHECKING:
    from qkv.evaluation.evaluation import Against, Evaluation
    from qkv.evaluation.overlap import Overlap
    from qkv.evaluation.sentences import WorstSentence

SHOWN = 5  # of the worst sentences


def report_html(evaluation: Evaluation, facts: dict[str, Any], names: tuple[str, str]) -> str:
    scores, without = evaluation.scores, evaluation.without_seen
    columns = ["", "score", "95 % interval", *([] if without is None else ["unseen only"])]
    parts = [
        html.line(summary(scores.sentences, facts)),
        html.table(score_rows(scores, without), columns),
    ]
    if scores.sentences < FEWEST:
        parts.append(html.line(f"Fewer than {FEWEST} sentences: the true intervals are wider."))
    if evaluation.overlap is not None:
        parts.append(html.line(seen_sentence(evaluation.overlap)))
    if evaluation.against is not None:
        parts.append(comparison_html(evaluation.against, names, evaluation.overlap))
    lengths = html.table(
        length_rows(evaluation.by_length), ["words", "sentences", "BLEU", "chrF", "length ratio"]
    )
    parts.append(html.folded(f"By length, in {facts['by_length']}", lengths))
    if worst := evaluation.worst[:SHOWN]:
        title = f"The worst {len(worst)} by {facts['worst']}"
        parts.append(html.folded(title, worst_table(worst, facts["places"])))
    return "".join(parts)


def worst_table(sentences: list[WorstSentence], place: str) -> str:
    rows = [
        (each.line, f"{each.score:.1f}", each.source or "", "\n".join(each.references), each.translation)
        for each in sentences
    ]
    return html.table(rows, [place, "score", "source", "reference", "translation"], texts=5)


def comparison_html(against: Against, names: tuple[str, str], overlap: Overlap | None) -> str:
    parts = [
        html.line(f"Against {names[1]}"),
        html.table(difference_rows(against), ["", *names, "difference", "p"]),
        *(html.line(each.meaning(*names)) for each in against.differences.values()),
    ]
    seen = seen_in_comparison(against, overlap)
    return "".join([*parts, html.line(seen)] if seen else parts)
