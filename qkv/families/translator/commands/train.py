"""`qkv train translator`: train a translator on sentence pairs, or fine-tune one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qkv.families.translator.inputs import Files, FilesAndModel
from qkv.families.translator.recipes import FINE_TUNE_RECIPES, RECIPES, RECURRENT_RECIPES, published_rows
from qkv.families.translator.settings import FineTuneTranslatorSettings, TranslatorSettings
from qkv.training.trainable import Recipe, Trainable, always

DATA = frozenset(("source", "target", "pairs", "data"))


def recipes_for(command: Any) -> Mapping[str, Recipe]:
    recurrent = command is not None and command.settings.model.architecture == "recurrent"
    return RECURRENT_RECIPES if recurrent else RECIPES


def validation(report: Mapping[str, Any]) -> list[str]:
    scores = report["validation"]
    return [
        f"on {scores['sentences']:,} held-out pairs: BLEU {scores['bleu']['value']:.1f}, "
        f"chrF {scores['chrf']['value']:.1f}, exact match {scores['exact_match']:.1f} %"
    ]


def validation_and_advice(report: Mapping[str, Any]) -> list[str]:
    advice = [each.removesuffix(".") for each in report.get("advice", [])]
    return [*validation(report), *(f"advice: {each} (`qkv import`, then --fine-tune)." for each in advice)]


def improvement(report: Mapping[str, Any]) -> list[str]:
    before, now = report["fine_tuned"]["validation_loss_before"], report["validation"]["loss"]
    return [f"loss per token on the held-out pairs: {before:.4f} before, {now:.4f} now", *validation(report)]


def show_tests(report: Mapping[str, Any]) -> None:
    """Print the scores on the test parts, next to published ones."""
    from rich.table import Table

    from qkv.evaluation.overlap import without_them
    from qkv.progress.terminal import err, escape_markup, say

    if not report["tests"]:
        return
    table = Table("test part", "model", "parameters", "BLEU", "chrF", title="")
    for name, test in report["tests"].items():
        own = (f"{report['parameters']:,}", f"{test['bleu']['value']:.2f}", f"{test['chrf']['value']:.2f}")
        table.add_row(escape_markup(name), "this one", *own)
        for row in published_rows(report, name):
            table.add_row(escape_markup(name), row.model, row.parameters, row.bleu, "")
    err.print(table)
    test = next(iter(report["tests"].values()))
    say(f"beam {test['beam_size']}, length penalty {test['length_penalty']:g}; {test['bleu']['signature']}")
    for name, test in report["tests"].items():
        overlap = test["overlap"]
        if overlap["sentences"]:
            without = overlap["scores_without"]
            rest = without_them(None if without is None else without["bleu"]["value"])
            count = f"{overlap['sentences']:,} of {test['sentences']:,} sentences of {name}"
            say(f"{count} occur in the training data; {rest}")


TRANSFORMER = Trainable(
    name="translator",
    summary="Train a translator on your own sentence pairs, for example\n"
    "  qkv train translator --source a.en --target a.de --output runs/en-de\n\n"
    "--architecture recurrent trains LSTMs with attention, as before the Transformer.\n\n"
    "Fine-tune a translator that was trained or imported before:\n"
    "  qkv train translator --fine-tune runs/opus --source a.en --target a.de --output runs/mine\n"
    "(`qkv train translator --fine-tune --help` shows its options.)",
    inputs=Files,
    settings=TranslatorSettings,
    recipes=recipes_for,
    nominal=30_000,
    unit="pairs",
    task="qkv.families.translator.task:pairs_task",
    starts_with=DATA,
    usage='translate {out} "…"',
    summary_lines=validation_and_advice,
    print_table=show_tests,
)
FINE_TUNE = Trainable(
    name="translator",
    summary="Fine-tune a translator on your own sentence pairs, for example\n"
    "  qkv train translator --fine-tune runs/opus --source a.en --target a.de --output runs/mine\n\n"
    "Its sizes, its vocabulary and its decoding defaults do not change.",
    inputs=FilesAndModel,
    settings=FineTuneTranslatorSettings,
    recipes=always(FINE_TUNE_RECIPES),
    nominal=30_000,
    unit="pairs",
    task="qkv.families.translator.fine_tuning:pairs_task",
    needs=frozenset(("fine_tune",)),
    starts_with=DATA,
    usage='translate {out} "…"',
    summary_lines=improvement,
    print_table=show_tests,
)
TRAINABLES = (TRANSFORMER, FINE_TUNE)
