"""The receipt of an adaptation: what was gained and what was lost, on text that nothing was chosen by."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from qkv.data.parallel import ParallelText
from qkv.evaluation.scores import Scorer
from qkv.evaluation.significance import difference_interval

RECEIPT = "adaptation.json"
MOST_WORDS = 200  # listed
WORD = re.compile(r"[^\W\d_]{2,}(?:[-'’][^\W\d_]+)*")


def comparison(
    scorer: Scorer, before: Sequence[str], after: Sequence[str], test: ParallelText
) -> dict[str, Any]:
    """BLEU and chrF of both models with intervals, and the interval of the difference."""
    found: dict[str, Any] = {"sentences": len(test)}
    for name, outputs in (("before", before), ("after", after)):
        scores = scorer.score_fully(outputs, test.target)
        found[name] = {"bleu": scores.bleu.to_dict(), "chrf": scores.chrf.to_dict()}
    for name, metric in (("bleu", scorer.bleu), ("chrf", scorer.chrf)):
        interval = difference_interval(metric, after, before, [test.target])
        values = [found[each][name]["value"] for each in ("after", "before")]
        found[f"{name}_difference"] = {
            "value": values[0] - values[1],
            "low": interval.low,
            "high": interval.high,
        }
    return found


def lost_words(before: Sequence[str], after: Sequence[str], test: ParallelText) -> list[dict[str, Any]]:
    """Words that the base model produced on the general test and the adapted one does not, the most frequent first."""
    counts, still, wanted = (words_in(texts) for texts in (before, after, test.target))
    lost = [(word, count) for word, count in counts.most_common() if word not in still]
    return [{"word": word, "count": count, "in_references": word in wanted} for word, count in lost]


def words_in(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in WORD.findall(text))


def card_section(receipt: Mapping[str, Any]) -> str:
    """For the model card."""
    data, lost = receipt["data"], receipt["lost_words"]
    rows = "\n".join(
        f"| {title}, {measure} | {score(receipt[part]['before'][key])} | {score(receipt[part]['after'][key])} "
        f"| {change(receipt[part][f'{key}_difference'])} |"
        for part, title in (("domain", "project"), ("general", "general"))
        for key, measure in (("chrf", "chrF"), ("bleu", "BLEU"))
    )
    shown = ", ".join(each["word"] for each in lost["words"][:20]) or "none"
    return f"""
## Adaptation

Adapted from {receipt["base"]["name"]} to {data["domain"]["train"]:,} pairs of a project, with {data["general"]["replayed"]:,} general pairs replayed. Learning
rate {receipt["chosen"]["rate"]:g}, {receipt["chosen"]["steps"]:,} steps, {receipt["minutes"]:.1f} minutes in all.

| test | before | after | difference |
|---|---|---|---|
{rows}

With 95 % intervals, on {receipt["domain"]["sentences"]:,} pairs of the project and {receipt["general"]["sentences"]:,} general ones that were not used otherwise. At most
{receipt["max_loss"]:g} general chrF could be lost.

Words that the base model produced on the general test and this one does not: {lost["count"]:,}, {lost["in_references"]:,} of them in the references. The
most frequent: {shown}. `{RECEIPT}` has more.
"""


def score(value: Mapping[str, Any]) -> str:
    interval = value["interval"]
    return f"{value['value']:.1f} ({interval['low']:.1f} to {interval['high']:.1f})"


def change(value: Mapping[str, Any]) -> str:
    return f"{value['value']:+.1f} ({value['low']:+.1f} to {value['high']:+.1f})"


def summary_lines(receipt: Mapping[str, Any]) -> list[str]:
    """What the command prints at the end."""
    lines = [
        f"{title}: chrF {receipt[part]['before']['chrf']['value']:.1f} → {receipt[part]['after']['chrf']['value']:.1f}, "
        f"{change(receipt[part]['chrf_difference'])}"
        for part, title in (("domain", "project"), ("general", "general"))
    ]
    lost = receipt["lost_words"]
    return [
        *lines,
        f"words of the general test that it no longer produces: {lost['count']:,} ({lost['in_references']:,} in the references)",
    ]
