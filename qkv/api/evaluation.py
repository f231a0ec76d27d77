"""qkv.evaluate: score a model of any kind, or translations from any tool."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from qkv.errors import ModelError
from qkv.evaluation.report import Report
from qkv.families import bundle_kinds
from qkv.families.family import BundleKind, resolve
from qkv.families.loading import kind_of
from qkv.families.products import kind_of_product
from qkv.flags import OptionMessageError
from qkv.progress.display import python_display
from qkv.runtime.model import Model
from qkv.runtime.running import EXACT
from qkv.signatures import options_of, replace_options, with_options

if TYPE_CHECKING:
    from qkv.evaluation.evaluator import Evaluator
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.gpt.classifier import GPTClassifier
    from qkv.families.gpt.evaluation import LanguageModelReport, MusicReport
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.label_evaluation import ClassificationReport
    from qkv.families.translator.translation_report import TranslationReport
    from qkv.families.vit.evaluation import ImageClassificationReport
    from qkv.families.vit.product import ImageClassifier
    from qkv.keywords import EvaluateKeywords

Texts = str | Path | Iterable[str]
"""A file, or texts: a list, an iterator, or a column of pandas, polars or datasets."""
References = str | Path | Iterable[str] | Iterable[Path] | Iterable[Iterable[str]]
OF_FILES = "translator"  # the kind that also scores translations without a model
RUNNING = {each.name for each in options_of(EXACT)}


def evaluators() -> dict[str, Evaluator]:
    """The evaluators of all kinds of bundles, by name."""
    kinds = bundle_kinds().values()
    return {kind.name: resolve(kind.evaluator) for kind in kinds if kind.evaluator is not None}


def option_classes() -> list[type]:
    """The options of all evaluators, each class once."""
    return list(dict.fromkeys(each.options for each in evaluators().values()))


@overload
def evaluate(
    model: LanguageModel,
    source: Texts | Iterable[Path],
    *,
    progress: bool = ...,
    **options: Unpack[EvaluateKeywords],
) -> LanguageModelReport: ...


@overload
def evaluate(
    model: ImageClassifier,
    source: Any,
    reference: Any = ...,
    *,
    progress: bool = ...,
    **options: Unpack[EvaluateKeywords],
) -> ImageClassificationReport: ...


@overload
def evaluate(
    model: TextClassifier | GPTClassifier,
    source: Any = ...,
    reference: Any = ...,
    *,
    progress: bool = ...,
    **options: Unpack[EvaluateKeywords],
) -> ClassificationReport: ...


@overload
def evaluate(
    model: Any,
    source: Texts | None,
    reference: References,
    *,
    progress: bool = ...,
    **options: Unpack[EvaluateKeywords],
) -> TranslationReport: ...


@overload
def evaluate(
    model: Any,
    *,
    reference: References,
    source: Texts | None = ...,
    progress: bool = ...,
    **options: Unpack[EvaluateKeywords],
) -> TranslationReport: ...


@overload
def evaluate(
    model: Any, *, pairs: Any, progress: bool = ..., **options: Unpack[EvaluateKeywords]
) -> TranslationReport: ...


@overload
def evaluate(
    model: Any, *, text: Texts | Iterable[Path], progress: bool = ..., **options: Unpack[EvaluateKeywords]
) -> LanguageModelReport: ...


@overload
def evaluate(
    model: Any, *, music: Any, progress: bool = ..., **options: Unpack[EvaluateKeywords]
) -> MusicReport: ...


@overload
def evaluate(
    model: Any, source: Any = ..., *, labels: Any, progress: bool = ..., **options: Unpack[EvaluateKeywords]
) -> ClassificationReport: ...


@overload
def evaluate(
    model: Any, source: Any = ..., *, progress: bool = ..., **options: Unpack[EvaluateKeywords]
) -> Report: ...


@with_options(*option_classes(), EXACT)
def evaluate(
    model: Any,
    source: Any = None,
    reference: Any = (),
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Report:
    """Score a model on a test set, as `qkv evaluate` does.

    The second argument is the data of the model's family, the third what belongs to it: sentences and references for a
    translator, texts for a language model, texts and labels for a text classifier, images and labels for an image classifier.
    Other data have names: `pairs` for a translator, `music`, `scenes`. Wherever the options speak of a file, texts can also be
    a list, an iterator, or a column of a table. A string is always the name of a file.

    Args:
        model: A model from `qkv.load`, or its folder. For translations of another tool, the translations: a list or a file.
            A folder is opened in float32, a loaded model is used as it is.
        source: Sentences to translate; for other families, their data.
        reference: A translation of each sentence, or a list of several for each; for a classifier, the labels.
        source_column: The column of the sources in `pairs`, if its name does not say so.
        target_column: The column of the references in `pairs`.
        progress: Show a progress bar if it takes a while.

    Returns:
        A report: a `TranslationReport`, `LanguageModelReport`, `ClassificationReport` and so on. Its scores are attributes.

    Raises:
        InputError: Texts that do not belong together, or of the wrong type.
        OptionError: Options that do not fit the model.

    Example:
        >>> report = qkv.evaluate("runs/en-de", ["the cat danced"], ["die Katze tanzte"], beam_size=2)
        >>> report.sentences
        1
        >>> report.bleu <= 100
        True
        >>> qkv.evaluate("runs/gpt", ["the cat danced"]).words
        3
    """
    kind = kind_to_evaluate(model)
    evaluator: Evaluator = resolve(str(kind.evaluator))
    columns = {"source_column": source_column, "target_column": target_column}
    given = {**options, **{name: value for name, value in columns.items() if value is not None}}
    for place, (name, value) in enumerate((("source", source), ("reference", reference))):
        if value is None or (isinstance(value, tuple) and not value):
            continue
        own_name = evaluator.positional[place] if place < len(evaluator.positional) else name
        if own_name in given:
            raise TypeError(f"evaluate() got the data twice, also as {own_name}.")
        given[own_name] = value
    own = {each.name for each in options_of(evaluator.options)}
    check_names(kind, given, own | set(evaluator.more), is_open=not is_name(model))
    chosen = {name: value for name, value in given.items() if name in own}
    running = {name: value for name, value in given.items() if name in RUNNING}
    return evaluator.evaluate(
        model,
        replace_options(evaluator.options(), chosen),
        replace_options(EXACT, running),
        python_display(progress),
        given,
    )


def is_name(model: Any) -> bool:
    return isinstance(model, str | os.PathLike)


def kind_to_evaluate(model: Any) -> BundleKind:
    """The kind of a model. Files and lists are translations."""
    if is_name(model) and not Path(model).exists():
        raise ModelError(f"there is no folder or file {model}. Give a model, its folder, or translations.")
    if is_name(model):
        kind = kind_of(model) if Path(model).is_dir() else bundle_kinds()[OF_FILES]
    elif isinstance(model, Iterable) and not isinstance(model, Model):
        return bundle_kinds()[OF_FILES]
    else:
        kind = kind_of_product(model)
    if kind.evaluator is None:
        known = ", ".join(evaluators())
        raise ModelError(f"a model of kind '{kind.name}' cannot be evaluated. Kinds that can: {known}.")
    return kind


def check_names(kind: BundleKind, given: dict[str, Any], known: set[str], *, is_open: bool) -> None:
    """Reject options of other kinds, and options of opening a model that is open."""
    unknown = [name for name in given if name not in known | RUNNING]
    if unknown:
        raise OptionMessageError(
            f"{{{unknown[0]}}} is not for a model of kind '{kind.name}', which takes {', '.join(sorted(known))}."
        )
    opening = [name for name in given if name in RUNNING]
    if is_open and opening:
        raise OptionMessageError(
            f"the model is open already: give {{{opening[0]}}} to `load`, or evaluate a folder."
        )
