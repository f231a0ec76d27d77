"""`qkv evaluate` of translations: scores, weaknesses, and comparison with another system."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qkv.cli.inputs import OptionalFile, OptionalLanguage, OptionalOutput
from qkv.cli.options import check_output, read_options
from qkv.errors import QkvError
from qkv.families.translator.settings import ScoringSettings
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running

if TYPE_CHECKING:
    from qkv.evaluation.evaluation import Evaluation, Sentences
    from qkv.evaluation.overlap import Seen
    from qkv.evaluation.scores import Scorer
    from qkv.families.translator.product import Translator

ModelOrFile = Annotated[Path, Flag(metavar="MODEL|FILE")]
OtherModelOrFile = Annotated[Path | None, Flag(metavar="MODEL|FILE")]
ReferenceFiles = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]
OptionalName = Annotated[str | None, Flag(metavar="NAME")]
STANDARD = asdict(ScoringSettings())  # for models without a report


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    model: Positional[ModelOrFile]
    """Folder of a model, or a file of translations from any tool, one per line."""
    source: OptionalFile = None
    """Sentences to translate, one per line; optional for a file of translations."""
    reference: ReferenceFiles = ()
    """Reference translations, line by line; one file or several."""
    pairs: OptionalFile = None
    """One file with sources and references instead: .tsv, .jsonl, .tmx or .po."""
    source_language: OptionalLanguage = None
    """Source language of --pairs, such as en; by default that of the model."""
    target_language: OptionalLanguage = None
    """Target language of --pairs; by default that of the model."""
    merge: bool = False
    """Treat lines with the same source as one sentence with several references."""
    against: OtherModelOrFile = None
    """Another model, or another file of translations, to compare with."""
    json: bool = False
    """Print one JSON document instead of tables."""
    output: OptionalOutput = None
    """Write the translations to this file, one per line."""
    beam_size: Annotated[int | None, Flag(aliases=["--beam"])] = None
    """Hypotheses kept at every step; 1 is greedy. The model has its own default."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    tokenize: OptionalName = None
    """Tokenizer of sacrebleu; none for tokenized text. By default as in the model's report, or 13a."""
    lowercase: bool = False
    """Ignore case. By default as in the model's report."""
    running: Annotated[Running, Flag(name="")] = EXACT


@dataclass(frozen=True, kw_only=True)
class System:
    """The source of translations: a model, or a file from any tool."""

    path: Path
    translator: Translator | None
    seen: Seen | None
    scoring: dict[str, Any]
    translations: list[str]  # empty for a model

    @classmethod
    def open(cls, path: Path, running: Running) -> System:
        from qkv.data.parallel import read_lines
        from qkv.evaluation.overlap import read_seen
        from qkv.families.loading import load_for
        from qkv.families.translator.product import Translator
        from qkv.progress.terminal import warn

        if path.is_dir():
            translator = load_for(path, "evaluate", Translator, running, warn)
            scoring = scoring_in_report(path / "report.json")
            return cls(
                path=path, translator=translator, seen=read_seen(path), scoring=scoring, translations=[]
            )
        return cls(path=path, translator=None, seen=None, scoring=STANDARD, translations=read_lines(path))


def main(arguments: list[str]) -> None:
    command = read_options(
        Evaluate,
        arguments,
        prog="qkv evaluate",
        description="BLEU, chrF and TER by sacrebleu with signatures and 95 % intervals, exact matches, scores by "
        "sentence length, the worst sentences, and what was in the training data.",
    )
    check_options(command)
    from qkv.evaluation.evaluation import merge_same_sources
    from qkv.evaluation.overlap import warning
    from qkv.progress.terminal import warn

    model = System.open(command.model, command.running)
    other = None if command.against is None else System.open(command.against, command.running)
    systems = [model] if other is None else [model, other]
    sentences = read_sentences(command, systems)
    check_systems(command, sentences, systems)
    scorer = scorer_for(command, model if model.translator or other is None else other)
    if other is not None and model.translator and other.translator and model.scoring != other.scoring:
        warn(f"the two models were scored with different settings: using those of {model.path} for both.")
    sentences, belongs = (
        merge_same_sources(sentences) if command.merge else (sentences, list(range(len(sentences))))
    )
    hypotheses = translations_of(model, sentences, belongs, command)
    if command.output is not None:
        write_translations(command.output, [hypotheses[place] for place in belongs])
    others = None if other is None else translations_of(other, sentences, belongs, command)
    evaluation = score(scorer, sentences, model, hypotheses, other, others)

    names = short_names(command.model, command.against)
    if evaluation.overlap is not None and evaluation.overlap.lines:
        warn(warning(names[0], evaluation.overlap, evaluation.without_seen, place_in(command)))
    if evaluation.against is not None and evaluation.against.overlap and evaluation.against.overlap.lines:
        warn(warning(names[1], evaluation.against.overlap, None, place_in(command)))
    facts = {
        **measurement(command, model, other, scorer),
        "references_each": list(sentences.references_each()),
    }
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.json:
        print(json.dumps({**evaluation.to_dict(*names), "measured": facts}, indent=2, ensure_ascii=False))
    else:
        from qkv.families.translator.commands.score_tables import page

        sys.stdout.write(page(evaluation, facts, names))
    sys.stdout.flush()


# Input -----------------------------------------------------------------------------------------------


def check_options(command: Evaluate) -> None:
    """Reject what would fail after minutes of work, or overwrite files."""
    for path in (command.model, command.against):
        if path is not None and not path.exists():
            raise QkvError(
                f"there is no folder or file {path}: give a model from `qkv train` or `qkv demo`, or a file of "
                "translations."
            )
    if (command.pairs is None) == (not command.reference):
        raise QkvError("give either --reference with one file or more, or --pairs.")
    if command.pairs is not None and command.source is not None:
        raise QkvError("--pairs includes the source sentences: leave out --source.")
    if command.pairs is None and (command.source_language or command.target_language):
        raise QkvError("--source-language and --target-language need --pairs.")
    if command.merge and command.source is None and command.pairs is None:
        raise QkvError("--merge needs --source or --pairs.")
    translated = [path for path in (command.model, command.against) if path is not None and path.is_dir()]
    if not translated and (command.beam_size is not None or command.length_penalty is not None):
        raise QkvError(
            f"{command.model} is a file of translations: leave out --beam-size and --length-penalty, which are for "
            "models."
        )
    if translated and command.source is None and command.pairs is None:
        raise QkvError(f"{translated[0]} is a model and needs sentences to translate: give --source.")
    if command.output is None:
        return
    given = [command.model, command.source, command.pairs, command.against, *command.reference]
    if any(path is not None and path.resolve() == command.output.resolve() for path in given):
        raise QkvError(f"--output would overwrite the input {command.output}: give another name.")
    check_output("--output", command.output)


def place_in(command: Evaluate) -> str:
    """What the number of a sentence counts. Files for --pairs may have no lines, or lines that are skipped."""
    if command.merge:
        return "sentence"
    return "line" if command.pairs is None else "pair"


def read_sentences(command: Evaluate, systems: list[System]) -> Sentences:
    from qkv.data.parallel import languages_in, read_lines, read_pairs
    from qkv.evaluation.evaluation import Sentences

    if command.pairs is not None:
        models = [each.translator for each in systems if each.translator is not None]
        known = models[0]._defaults.languages.named() if models else (None, None)
        source_language, target_language = languages_in(
            command.pairs, command.source_language or known[0], command.target_language or known[1]
        )
        pairs = read_pairs(command.pairs, source_language=source_language, target_language=target_language)
        return Sentences(source=pairs.source, references=[pairs.target])
    source = None if command.source is None else read_lines(command.source)
    references = [read_lines(path) for path in command.reference]
    sides = [] if command.source is None or source is None else [(command.source, len(source))]
    check_equally_long([*sides, *zip(command.reference, map(len, references), strict=True)])
    return Sentences(source=source, references=references)


def check_systems(command: Evaluate, sentences: Sentences, systems: list[System]) -> None:
    first = command.pairs or command.source or command.reference[0]
    files = [(each.path, len(each.translations)) for each in systems if each.translator is None]
    check_equally_long([(first, len(sentences)), *files])


def check_equally_long(files: list[tuple[Path, int]]) -> None:
    (first, lines), *rest = files
    others = [f"{path} has {count:,}" for path, count in rest if count != lines]
    if others:
        raise QkvError(
            f"{first} has {lines:,} lines but {' and '.join(others)}; the files must match line by line."
        )


def scoring_in_report(path: Path) -> dict[str, Any]:
    """The scoring settings of the model's training."""
    from qkv.checkpoint.files import read_json

    report = read_json(path) if path.is_file() else {}
    try:
        found = {**STANDARD, **(report.get("settings", {}).get("scoring") or {})}
    except (AttributeError, TypeError):
        raise QkvError(f"{path} is incomplete: restore it or delete it.") from None
    return found


def scorer_for(command: Evaluate, system: System) -> Scorer:
    from qkv.evaluation.scores import Scorer

    return Scorer.make(
        tokenize=command.tokenize or system.scoring["tokenize"],
        lowercase=command.lowercase or bool(system.scoring["lowercase"]),
    )


# Translation and scoring ----------------------------------------------------------------------------------------------------


def translations_of(system: System, sentences: Sentences, belongs: list[int], command: Evaluate) -> list[str]:
    """One translation per sentence. If several lines of a file belong to a sentence, the first one."""
    from qkv.families.translator.lines import without_line_breaks
    from qkv.progress.terminal import count_progress

    if system.translator is None or sentences.source is None:
        by_place = dict(zip(reversed(belongs), reversed(system.translations), strict=True))  # the first wins
        return [by_place[place] for place in range(len(sentences))]
    with count_progress("translating", len(sentences), lines=True) as done:
        translations = system.translator.translate(
            sentences.source,
            beam_size=command.beam_size,
            length_penalty=command.length_penalty,
            done=done,
        )
    return [without_line_breaks(each) for each in translations]


def write_translations(path: Path, translations: list[str]) -> None:
    from qkv.checkpoint.files import write_file

    write_file(path, "".join(f"{line}\n" for line in translations).encode())


def score(
    scorer: Scorer,
    sentences: Sentences,
    model: System,
    hypotheses: list[str],
    other: System | None,
    others: list[str] | None,
) -> Evaluation:
    from qkv.evaluation.evaluation import evaluate, steps_of
    from qkv.progress.terminal import count_progress

    overlap = sentences.overlap_with(model.seen)
    with count_progress("scoring", steps_of(others is not None, overlap), lines=True) as done:
        return evaluate(
            scorer,
            hypotheses,
            sentences,
            overlap=overlap,
            others=others,
            others_overlap=None if other is None else sentences.overlap_with(other.seen),
            done=done,
        )


# Output ------------------------------------------------------------------------------------------------


def measurement(command: Evaluate, model: System, other: System | None, scorer: Scorer) -> dict[str, Any]:
    import sacrebleu

    from qkv import __version__
    from qkv.evaluation.sentences import MEASURE
    from qkv.evaluation.significance import CLEAR

    source = command.source or command.pairs
    return {
        "model": decoding_of(model, command),
        "against": None if other is None else decoding_of(other, command),
        "source": None if source is None else str(source),
        "references": [str(path) for path in command.reference or [command.pairs]],
        "tokenize": scorer.tokenize,
        "lowercase": scorer.lowercase,
        "intervals": "95 %, bootstrap",
        "test": f"paired bootstrap; a difference is called clear if p is below {CLEAR}",
        "by_length": f"words of the {'reference' if source is None else 'source'}",
        "worst": MEASURE,
        "places": place_in(command),
        "qkv": __version__,
        "sacrebleu": sacrebleu.__version__,
    }


def decoding_of(system: System, command: Evaluate) -> dict[str, Any]:
    if system.translator is None:
        return {"path": str(system.path), "kind": "file", "beam_size": None, "length_penalty": None}
    defaults = system.translator._defaults
    return {
        "path": str(system.path),
        "kind": "model",
        "beam_size": defaults.beam_size if command.beam_size is None else command.beam_size,
        "length_penalty": defaults.length_penalty
        if command.length_penalty is None
        else command.length_penalty,
    }


def short_names(model: Path, against: Path | None) -> tuple[str, str]:
    """The last part of each path, if the two differ."""
    other = model if against is None else against
    if model.name and other.name and model.name != other.name:
        return model.name, other.name
    return (model.name or str(model), "") if against is None else (str(model), str(other))
