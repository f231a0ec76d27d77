"""The report of a run (report.json) and the model card."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from qkv.data.parallel import ParallelText
from qkv.evaluation.overlap import Seen, find_overlap
from qkv.evaluation.scores import Scorer
from qkv.families.translator.corpus import Corpus
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import PairSettings
from qkv.training.card import Purpose, cell, facts_table, front_matter, limits, usage
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Counter

MAX_SCORED = 1_000  # validation pairs translated for the report
PURPOSE = Purpose(
    task="translation",
    command='qkv translate . "…"',
    python='model.translate("…")',
    use="The model translates text between the languages above. It makes mistakes: a person should read what matters.",
)


def make_report(
    translator: Translator,
    corpus: Corpus,
    settings: PairSettings,
    run: Run,
    chosen: ChosenWeights,
    validated: Sequence[str],
    scorer: Scorer,
    seen: Seen,
) -> dict[str, Any]:
    """The report. `validated` are the translations of the first validation sentences."""
    train, valid, working = run.train, run.valid, run.watch.on_work
    working("scoring", 0, 1)
    return {
        **facts_of_run(run, translator.model, chosen, settings),
        "kind": "translator",
        "languages": asdict(corpus.languages),
        "data": {
            "origin": corpus.origin,
            "pairs": len(train),
            "dropped": {
                **corpus.dropped,
                "too many tokens": len(corpus.train) - len(train),
            },
            "duplicates": corpus.duplicates,
            "validation_pairs": len(valid),
            "validation_pairs_in_training": corpus.shared,
        },
        "vocab_size": len(translator.tokenizer),
        "validation": {
            "loss": round(chosen.loss, 4),
            **decoding_settings(translator),
            **scorer.score(validated, corpus.valid.target[: len(validated)]).to_dict(),
        },
        "tests": {
            name: scores_on_test(
                part, translator, scorer, seen, Counter(working, f"translating {name}", len(part))
            )
            for name, part in corpus.tests.items()
        },
    }


def scores_on_test(
    part: ParallelText, translator: Translator, scorer: Scorer, seen: Seen, done: Callable[[int], None]
) -> dict[str, Any]:
    """The scores of all sentences, and of the unseen ones if some are in the training data."""
    hypotheses = translator.translate(part.source, done=done)
    overlap = find_overlap(seen, part.source, [part.target])
    without = None
    if overlap.is_partial():
        without = scorer.score(overlap.unseen_of(hypotheses), overlap.unseen_of(part.target)).to_dict()
    counts = {"sentences": len(overlap.lines), "same_translation": len(overlap.same_translation)}
    return {
        **decoding_settings(translator),
        **scorer.score(hypotheses, part.target).to_dict(),
        "overlap": {**counts, "scores_without": without},
    }


def decoding_settings(translator: Translator) -> dict[str, Any]:
    return {
        "beam_size": translator._defaults.beam_size,
        "length_penalty": translator._defaults.length_penalty,
    }


def model_card(report: Mapping[str, Any]) -> str:
    languages, data, validation = report["languages"], report["data"], report["validation"]
    dropped = ", ".join(f"{count} {reason}" for reason, count in data["dropped"].items() if count) or "none"
    trained_on = f"{cell(data['origin'])}: {data['pairs']:,} sentence pairs (dropped: {cell(dropped)})"
    return f"""{front_matter(PURPOSE, report)}# Translator, {languages["source"]} → {languages["target"]}

{usage(PURPOSE, report)}
{facts_table(report, trained_on, f", vocabulary of {report['vocab_size']:,} tokens")}

## Scores

On {validation["sentences"]:,} held-out validation pairs, beam size {validation["beam_size"]},
length penalty {validation["length_penalty"]}:

| measure | value | signature |
|---|---|---|
| BLEU | {validation["bleu"]["value"]:.2f} | `{cell(validation["bleu"]["signature"])}` |
| chrF | {validation["chrf"]["value"]:.2f} | `{cell(validation["chrf"]["signature"])}` |
| exact match | {validation["exact_match"]:.1f} % | |
| loss per token | {validation["loss"]:.3f} | |

{on_trust(report)}{on_test_parts(report)}{on_new_sentences(report)}{limits(PURPOSE)}"""


def on_trust(report: Mapping[str, Any]) -> str:
    calibration = report.get("calibration", report.get("trust"))  # its name in version 0.1
    if calibration is None:
        return ""
    confidence = calibration["confidence"]
    if confidence["calibration_error"] is None:
        return ""
    return f"""The confidence (`qkv translate . --scores`) is the probability that a translation is good. Good means
{confidence["good"]}, which holds for {100 * confidence["share_good"]:.0f} % of the validation set. The expected calibration
error is {100 * confidence["calibration_error"]:.1f} percentage points (five-fold cross-validation).

"""


def on_test_parts(report: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f"| {cell(name)} | {test['sentences']:,} | {test['overlap']['sentences']:,} "
        f"| {test['bleu']['value']:.2f} | {test['chrf']['value']:.2f} "
        f"| `{cell(test['bleu']['signature'])}` |"
        for name, test in report.get("tests", {}).items()
    )
    if not rows:
        return ""
    return f"""On the test sets, which were used neither for training nor to choose the weights, with the same search:

| test set | sentences | in the training data | BLEU | chrF | BLEU signature |
|---|---|---|---|---|---|
{rows}

"""


def on_new_sentences(report: Mapping[str, Any]) -> str:
    """The demo's test set, which is harder than its validation set."""
    if "test" not in report:
        return ""
    test = report["test"]
    return f"""On {test["sentences"]:,} test sentences, half of them with unseen combinations of words: BLEU
{test["bleu"]["value"]:.1f}, exact match {test["exact_match"]:.1f} %, pronoun agreement {test["pronoun_agreement"]:.1f} %.

"""
