"""What a run leaves for people: report.json, and the model card made from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from qkv.data.parallel import ParallelText
from qkv.evaluation.overlap import Seen, find_overlap
from qkv.evaluation.scores import Scorer
from qkv.families.translator.corpus import Corpus
from qkv.families.translator.product import Translator
from qkv.families.translator.settings import PairSettings
from qkv.training.card import cell
from qkv.training.loop import Run
from qkv.training.runs import Chosen, Counter, facts_of_run

SCORED = 1_000  # validation pairs translated for the report: enough for BLEU, and soon done


def make_report(
    translator: Translator,
    corpus: Corpus,
    settings: PairSettings,
    run: Run,
    chosen: Chosen,
    validated: Sequence[str],
    scorer: Scorer,
    seen: Seen,
) -> dict[str, Any]:
    """`validated` are the translations of the first sentences of the validation part."""
    train, valid, working = run.train, run.valid, run.watch.working
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
                "more pieces than positions": len(corpus.train) - len(train),
            },
            "duplicates": corpus.duplicates,
            "validation_pairs": len(valid),
            "validation_pairs_in_training": corpus.shared,
        },
        "vocab_size": len(translator.tokenizer),
        "validation": {
            "loss": round(chosen.loss, 4),
            **decoded(translator),
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
    """The scores of all sentences, and where training has shown some of them, of the others too."""
    hypotheses = translator.translate(part.source, done=done)
    overlap = find_overlap(seen, part.source, [part.target])
    without = None
    if overlap.is_partial():
        without = scorer.score(overlap.unseen_of(hypotheses), overlap.unseen_of(part.target)).to_dict()
    counts = {"sentences": len(overlap.lines), "same_translation": len(overlap.same_translation)}
    return {
        **decoded(translator),
        **scorer.score(hypotheses, part.target).to_dict(),
        "overlap": {**counts, "scores_without": without},
    }


def decoded(translator: Translator) -> dict[str, Any]:
    return {"beam_size": translator.defaults.beam_size, "length_penalty": translator.defaults.length_penalty}


def model_card(report: Mapping[str, Any]) -> str:
    languages, data, training = report["languages"], report["data"], report["training"]
    validation = report["validation"]
    dropped = ", ".join(f"{count} {reason}" for reason, count in data["dropped"].items() if count) or "none"
    return f"""# Translator, {languages["source"]} → {languages["target"]}

Made by qkv {report["made_with"]["qkv"]}. Raw text in, raw text out:

    qkv translate . "…"

| | |
|---|---|
| trained on | {cell(data["origin"])}: {data["pairs"]:,} sentence pairs (dropped: {cell(dropped)}) |
| size | {report["parameters"]:,} parameters, {report["vocab_size"]:,} pieces in the vocabulary |
| training | {training["steps"]:,} steps, {training["epochs"]} epochs, {training["minutes"]} minutes, seed {training["seed"]} |
| weights | {cell(training["weights"])} |

## Scores

On {validation["sentences"]:,} held-out validation pairs, beam {validation["beam_size"]},
length penalty {validation["length_penalty"]}:

| measure | value | signature |
|---|---|---|
| BLEU | {validation["bleu"]["value"]:.2f} | `{cell(validation["bleu"]["signature"])}` |
| chrF | {validation["chrf"]["value"]:.2f} | `{cell(validation["chrf"]["signature"])}` |
| exact match | {validation["exact_match"]:.1f} % | |
| loss per piece | {validation["loss"]:.3f} | |

{on_trust(report)}{on_test_parts(report)}{on_new_sentences(report)}It knows what its training text shows and nothing else: other domains, other styles and other
languages come out worse than these figures say. `report.json` has every setting.
"""


def on_trust(report: Mapping[str, Any]) -> str:
    if "trust" not in report:
        return ""
    told = report["trust"]["confidence"]
    if told["calibration_error"] is None:
        return ""
    return f"""How sure it is (`qkv translate . --scores`) is the probability of a good translation, which means
{told["good"]}: {100 * told["share_good"]:.0f} % of the validation part is that, and what it says is off by
{100 * told["calibration_error"]:.1f} percentage points in the mean (expected calibration error, each fifth of the sentences by a fit on the others).

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
    return f"""On the test parts, which were used neither for training nor for the choice of weights, decoded alike:

| part | sentences | … that training has shown | BLEU | chrF | BLEU's signature |
|---|---|---|---|---|---|
{rows}

"""


def on_new_sentences(report: Mapping[str, Any]) -> str:
    """The demo's test part, which is harder than its validation part."""
    if "test" not in report:
        return ""
    test = report["test"]
    return f"""On {test["sentences"]:,} test sentences, half of them with combinations of words never shown in training: BLEU
{test["bleu"]["value"]:.1f}, exact match {test["exact_match"]:.1f} %, pronouns that agree with their noun {test["pronoun_agreement"]:.1f} %.

"""
