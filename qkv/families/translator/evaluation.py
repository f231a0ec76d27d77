"""Evaluate translations: scores, weaknesses, overlap with training data, and comparison with another system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import write_file
from qkv.checkpoint.outputs import check_new_file
from qkv.data.pair_columns import PairColumns
from qkv.data.python_rows import as_path, is_path
from qkv.errors import DataError, InputError, check_rules
from qkv.evaluation.display import SILENT, Display
from qkv.evaluation.evaluation import Evaluation, evaluate, merge_same_sources, steps_of
from qkv.evaluation.evaluator import NOTHING, Evaluator
from qkv.evaluation.overlap import warning
from qkv.evaluation.scores import Scorer
from qkv.evaluation.sentences import MEASURE
from qkv.evaluation.significance import CLEAR
from qkv.families.translator.evaluation_options import TranslationEvaluation
from qkv.families.translator.product import Translator
from qkv.families.translator.systems import System, short_names
from qkv.families.translator.test_set import TestSet, check_equally_long
from qkv.families.translator.translation_report import Measured, TranslationComparison, TranslationReport
from qkv.flags import OptionMessageError
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True)
class Comparer:
    """Compares the translations of a report with those of other systems."""

    system: System
    scorer: Scorer
    options: TranslationEvaluation
    running: Running

    def __call__(self, report: TranslationReport, given: Any, display: Display) -> TranslationComparison:
        sentences, belongs = report.measured.sentences, report.measured.belongs
        if isinstance(given, TranslationReport):
            if given.measured.sentences != sentences:
                raise InputError(
                    "the two reports are on different sentences or references: use the same test set."
                )
            given = [given.translations[place] for place in belongs]
        other = System.open(given, "other", self.running, display)
        if other.translator is not None and sentences.source is None:
            raise InputError(
                "this report has no source sentences for a model to translate: evaluate with source."
            )
        if other.column is not None and len(other.column) != len(belongs):
            kind = DataError if other.column.path is not None else InputError
            raise kind(f"{other.column.name} has {other.name}, but the test set has {len(belongs):,}.")
        others = other.translate(sentences, belongs, self.options.decoding, display)
        evaluation = score(
            self.scorer,
            sentences,
            self.system,
            report.translations,
            other,
            others,
            display,
            self.options.worst,
        )
        assert evaluation.against is not None
        return TranslationComparison(
            against=evaluation.against, names=short_names(self.system, other), overlap=evaluation.overlap
        )


def evaluate_translations(
    model: Any,
    options: TranslationEvaluation = TranslationEvaluation(),  # noqa: B008  (it is frozen)
    running: Running = EXACT,
    display: Display = SILENT,
    given: Mapping[str, Any] = NOTHING,
) -> TranslationReport:
    """Score a model, or translations from any tool, on a test set."""
    check_options(model, options)
    system = System.open(model, "translations", running, display)
    other = None if options.against is None else System.open(options.against, "against", running, display)
    systems = [system] if other is None else [system, other]
    test_set = read_test_set(options, systems, given)
    check_equally_long([test_set.first, *(each.column for each in systems if each.column is not None)])
    scorer = scorer_for(options, system if system.translator or other is None else other)
    if other is not None and system.translator and other.translator and system.scoring != other.scoring:
        display.warn(
            f"the two models were scored with different settings: using those of {system.name} for both."
        )
    sentences, belongs = (
        merge_same_sources(test_set.sentences)
        if options.merge
        else (test_set.sentences, list(range(len(test_set.sentences))))
    )
    hypotheses = system.translate(sentences, belongs, options.decoding, display)
    if options.output is not None:
        write_translations(as_path(options.output), [hypotheses[place] for place in belongs])
    others = None if other is None else other.translate(sentences, belongs, options.decoding, display)
    evaluation = score(scorer, sentences, system, hypotheses, other, others, display, options.worst)
    names = short_names(system, other)
    warn_of_overlap(evaluation, names, options.place, display)
    facts = {
        **measurement(options, test_set, system, other, scorer),
        "references_each": list(sentences.references_each()),
    }
    compare = Comparer(system=system, scorer=scorer, options=options, running=running)
    measured = Measured(sentences=sentences, belongs=belongs, facts=facts, names=names, compare=compare)
    return TranslationReport(evaluation, hypotheses, measured)


COLUMNS = ("source_column", "target_column")
EVALUATOR = Evaluator(
    options=TranslationEvaluation,
    evaluate=evaluate_translations,
    positional=("source", "reference"),
    more=COLUMNS,
)


# Input -----------------------------------------------------------------------------------------------


def check_options(model: Any, options: TranslationEvaluation) -> None:
    """Reject what would fail after minutes of work, or overwrite files."""
    systems = [each for each in (model, options.against) if each is not None]
    for path in (as_path(each) for each in systems if is_path(each)):
        if not path.exists():
            raise DataError(
                f"there is no folder or file {path}: give a model from `qkv train` or `qkv demo`, or a file of "
                "translations."
            )
    check_rules([("worst", "must not be negative", options.worst >= 0)])
    if (options.pairs is None) == is_missing(options.reference):
        raise OptionMessageError("give {reference} (texts or files) or {pairs}.")
    if options.pairs is not None and options.source is not None:
        raise OptionMessageError("{pairs} includes the source sentences: leave out {source}.")
    if options.pairs is None and (options.source_language or options.target_language):
        raise OptionMessageError("{source_language} and {target_language} need {pairs}.")
    if options.merge and options.source is None and options.pairs is None:
        raise OptionMessageError("{merge} needs {source} or {pairs}.")
    models = [each for each in systems if is_model(each)]
    if not models and (options.beam_size is not None or options.length_penalty is not None):
        what = f"{model} is a file of translations" if is_path(model) else "translations were given"
        raise OptionMessageError(
            "{what}: leave out {beam_size} and {length_penalty}, which are for models.", what=what
        )
    if models and options.source is None and options.pairs is None:
        raise OptionMessageError(
            "{model} is a model and needs sentences to translate: give {source}.", model=models[0]
        )
    if options.output is not None:
        check_output(model, options, as_path(options.output))


def is_missing(reference: Any) -> bool:
    return reference is None or (isinstance(reference, tuple) and not reference)


def is_model(given: Any) -> bool:
    return isinstance(given, Translator) or (is_path(given) and as_path(given).is_dir())


def check_output(model: Any, options: TranslationEvaluation, output: Path) -> None:
    references: Any = options.reference
    several = references if isinstance(references, tuple | list) else [references]
    given = [model, options.source, options.pairs, options.against]
    files = [as_path(each) for each in given if is_path(each)]
    files += [as_path(each) for each in several if isinstance(each, os.PathLike)]
    check_new_file("output", output, overwrite=options.overwrite, inputs=files)


def read_test_set(options: TranslationEvaluation, systems: list[System], given: Mapping[str, Any]) -> TestSet:
    if options.pairs is not None:
        models = [each.translator for each in systems if each.translator is not None]
        known = models[0]._defaults.languages.named() if models else (None, None)
        columns = PairColumns(
            source=given.get("source_column"),
            target=given.get("target_column"),
            source_language=options.source_language or known[0],
            target_language=options.target_language or known[1],
        )
        return TestSet.of_pairs(options.pairs, columns)
    counts = [len(each.column) for each in systems if each.column is not None]
    return TestSet.of_columns(options.source, options.reference, counts[0] if counts else None)


def scorer_for(options: TranslationEvaluation, system: System) -> Scorer:
    return Scorer.make(
        tokenize=options.tokenize or system.scoring["tokenize"],
        lowercase=options.lowercase or bool(system.scoring["lowercase"]),
    )


# Scoring ---------------------------------------------------------------------------------------------


def score(
    scorer: Scorer,
    sentences: Any,
    model: System,
    hypotheses: list[str],
    other: System | None,
    others: list[str] | None,
    display: Display,
    most_worst: int,
) -> Evaluation:
    overlap = sentences.overlap_with(model.seen)
    with display.progress("scoring", steps_of(others is not None, overlap)) as done:
        return evaluate(
            scorer,
            hypotheses,
            sentences,
            overlap=overlap,
            others=others,
            others_overlap=None if other is None else sentences.overlap_with(other.seen),
            most_worst=most_worst,
            done=done,
        )


def warn_of_overlap(evaluation: Evaluation, names: tuple[str, str], place: str, display: Display) -> None:
    if evaluation.overlap is not None and evaluation.overlap.lines:
        display.warn(warning(names[0], evaluation.overlap, evaluation.without_seen, place))
    if evaluation.against is not None and evaluation.against.overlap and evaluation.against.overlap.lines:
        display.warn(warning(names[1], evaluation.against.overlap, None, place))


def write_translations(path: Path, translations: list[str]) -> None:
    write_file(path, "".join(f"{line}\n" for line in translations).encode())


def measurement(
    options: TranslationEvaluation, test_set: TestSet, model: System, other: System | None, scorer: Scorer
) -> dict[str, Any]:
    import sacrebleu

    from qkv import __version__

    how = options.beam_size, options.length_penalty
    return {
        "model": model.decoding(*how),
        "against": None if other is None else other.decoding(*how),
        "source": test_set.source,
        "references": test_set.references,
        "tokenize": scorer.tokenize,
        "lowercase": scorer.lowercase,
        "intervals": "95 %, bootstrap",
        "test": f"paired bootstrap; a difference is called clear if p is below {CLEAR}",
        "by_length": f"words of the {'reference' if test_set.source is None else 'source'}",
        "worst": MEASURE,
        "places": options.place,
        "qkv": __version__,
        "sacrebleu": sacrebleu.__version__,
    }
