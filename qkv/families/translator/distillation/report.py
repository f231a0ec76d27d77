"""What the report, the model card and the command say about a distillation."""

from collections.abc import Iterator, Mapping
from typing import Any

from qkv.training.card import DISTILLATION_TITLE as TITLE
from qkv.training.card import cell


def summary_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """What `qkv distill` prints at the end."""
    teachers, size, speed = report["teachers"], report["size"], report["speed"]
    parameters = sum(each["parameters"] for each in teachers)
    yield (
        f"size: {size['parameters']:,} parameters, {size['megabytes']:.2f} MB; "
        f"teachers: {parameters:,} parameters in {len(teachers)} {'model' if len(teachers) == 1 else 'models'}"
    )
    own, theirs = speed["student_words_per_second"], speed["teachers_words_per_second"]
    yield (
        f"speed: {own:,.0f} words per second, teachers {theirs:,.0f} ({own / max(theirs, 1e-9):.1f} times as fast; measured on "
        f"this machine, {speed['sentences']:,} sentences, threads: {speed['threads']})"
    )
    shortlist = report["shortlist"]
    yield (
        f"vocabulary shortlist: {shortlist['mean_size']:,.0f} tokens per sentence, {shortlist['bleu_lost']:.2f} BLEU lost"
        f"{'' if shortlist['kept'] else ', which is too much: not used'}"
    )
    for name, part in report["sets"].items():
        scores = ", ".join(
            f"{label} {part['student'][key]['value']:.1f} against {part['teachers'][key]['value']:.1f} of the teachers "
            f"({difference(part['difference'][key])})"
            for key, label in (("bleu", "BLEU"), ("chrf", "chrF"))
        )
        against = ", against the teachers' own translations" if part["references"] == "teachers" else ""
        yield f"{name}, {part['sentences']:,} sentences{against}: {scores}"


def difference(found: Mapping[str, Any]) -> str:
    interval = found["interval"]
    return f"{found['value']:+.2f}, 95 % interval {interval['low']:+.2f} to {interval['high']:+.2f}"


def filter_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """What was dropped, with an example for each reason."""
    for origin, part in facts["parts"].items():
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in part["dropped"].items())
        yield f"{origin}: kept {part['kept']:,} of {part['pairs']:,}{f'; dropped: {dropped}' if dropped else ''}"
    for reason, examples in facts["examples"].items():
        source, target = examples[0]
        yield f"  {reason}, for example: {shorten(source)} → {shorten(target)}"


def shorten(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def with_distillation(card: str, report: Mapping[str, Any]) -> str:
    """The model card with a section about the teachers; an earlier one is replaced."""
    before = card.split(f"\n{TITLE}\n")[0].rstrip("\n")
    return f"{before}\n\n{section(report)}"


def section(report: Mapping[str, Any]) -> str:
    teachers = "\n".join(
        f"| {cell(each['name'])} | {each['parameters']:,} | `{each['hash'][:16]}` |"
        for each in report["teachers"]
    )
    data = "\n".join(
        f"| {origin} | {part['pairs']:,} | {part['kept']:,} |"
        for origin, part in report["data"]["parts"].items()
    )
    scores = "\n".join(f"- {line}" for line in summary_lines(report))
    return f"""{TITLE}

This model is a student. It learned from the translations of these teachers:

| teacher | parameters | hash of the weights |
|---|---|---|
{teachers}

| training data | pairs | kept |
|---|---|---|
{data}

Student and teachers, with the same search on the same sentences. The interval is from a paired bootstrap:

{scores}
"""
