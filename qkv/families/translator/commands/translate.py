"""`qkv translate`: translate texts or lines, one output line for each."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.cli.inputs import OptionalFile, OptionalLanguage, OptionalOutput
from qkv.cli.options import read_options
from qkv.cli.string_types import STRING_TYPES, StringType
from qkv.cli.texts import LINES_AT_ONCE, check_text, standard_input
from qkv.documents import is_catalog
from qkv.errors import QkvError
from qkv.families.translator.options import (
    ANY_CONFIDENCE,
    ANY_FILE,
    DEFAULTS,
    NO_MEMORY,
    PLAIN_LINES,
    PROTECTED,
    ConfidenceOptions,
    FileOptions,
    LineOptions,
    MemoryOptions,
    TranslationOptions,
)
from qkv.flags import REPEATED, Flag, Positional, Repeated
from qkv.runtime.pace import Pace
from qkv.runtime.running import DEFAULT_RUNNING, Running
from qkv.text.glossary import Glossary
from qkv.text.protect import Kind

if TYPE_CHECKING:
    from qkv.families.translator.lines import LineTranslation
    from qkv.families.translator.product import Translator

COMMON = {
    "input", "output", "overwrite", "format", "all", "also-fuzzy", "pivot", "target-language", "beam-size", "length-penalty", "num-hypotheses", "glossary", "memory", "protect", "scores",
    "alignments", "json", "min-confidence", "threads", "compute-type",
}  # fmt: skip


def kinds_of(names: str) -> tuple[Kind, ...]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted == ["none"]:
        return ()
    known = tuple(kind for name in wanted for kind in PROTECTED if kind == name)
    if len(known) < len(wanted) or not wanted:
        unknown = [name for name in wanted if name not in known]
        raise QkvError(f"--protect accepts {', '.join(PROTECTED)} or none, not '{', '.join(unknown)}'.")
    return known


STRING_TYPES[Glossary] = StringType(
    metavar="FILE", read=lambda name: Glossary.read(Path(name)), show=lambda glossary: ""
)
STRING_TYPES[tuple[Kind, ...]] = StringType(
    metavar="KIND,KIND,…", read=kinds_of, show=lambda kinds: ",".join(kinds) or "none"
)


@dataclass(frozen=True, kw_only=True)
class Translate:
    model: Positional[Path]
    """Folder of the model, or a language pair such as en-de."""
    text: Positional[tuple[str, ...]] = ()
    """Text to translate, line by line. By default, lines are read from --input or from standard input."""
    input: OptionalFile = None
    """File to translate: plain text line by line, or the texts of a file such as .po, .json, .html or .docx. Or a folder of such files."""
    output: OptionalOutput = None
    """File or folder for the translations of --input. The same command resumes an interrupted job."""
    overwrite: bool = False
    """Replace the output file if it exists."""
    pivot: OptionalLanguage = None
    """For a language pair: translate in two steps through this language, unless a model for the pair is installed."""
    files: Annotated[FileOptions, Flag(name="")] = ANY_FILE
    options: Annotated[TranslationOptions, Flag(name=""), REPEATED] = DEFAULTS
    form: Annotated[LineOptions, Flag(name="")] = PLAIN_LINES
    confidence: Annotated[ConfidenceOptions, Flag(name="")] = ANY_CONFIDENCE
    memory: Annotated[MemoryOptions, Flag(name="")] = NO_MEMORY
    ensemble: Repeated[tuple[Path, ...]] = ()
    """Another model with the same vocabulary. Probabilities are averaged. Can be given several times."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Translate,
        arguments,
        prog="qkv translate",
        common=COMMON,
        description="Translate text, a file, or standard input, line by line.",
    )
    check(command)
    *before, model = models_of(command)
    translator = open_model(command, model)
    lines = line_translation(command)
    if command.output is not None and command.input is not None:
        translator._translate_file(
            command.input, command.output, lines, command.files, overwrite=command.overwrite
        )
        return
    translator._check_confidence(command.confidence)
    print_translations(command, translator, lines, [open_translator(command, folder) for folder in before])


def print_translations(
    command: Translate,
    translator: "Translator",
    lines: "LineTranslation",
    before: Sequence["Translator"] = (),
) -> None:
    """`before` are the translators of earlier steps."""
    from qkv.progress.delayed import count_progress

    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    pipeline, number, pace = translator._pipeline, 1, Pace(LINES_AT_ONCE)
    with translator._open_recall(lines) as recall:
        for chunk in chunks(command):
            with count_progress("translating", len(chunk)) as done:
                for portion in pace.portions(chunk):
                    for each in before:
                        portion = each._pipeline.best(portion, in_between(command.options))
                    for record in lines.records(pipeline, portion, done, number, recall):
                        print(record)
                    sys.stdout.flush()
                    number += len(portion)


def check(command: Translate) -> None:
    options = command.options
    for text in (*command.text, *options.contain, *options.avoid, options.prefix):
        check_text(text)
    if command.text and command.input is not None:
        raise QkvError("give either texts or --input, not both.")
    if command.output is not None and command.input is None:
        raise QkvError("--output needs --input. Without --input, translations go to standard output.")
    if command.output is None and command.files != ANY_FILE:
        raise QkvError("--format, --all and --also-fuzzy need --input and --output.")
    if command.output is None and command.input is not None and is_catalog(command.input.name):
        raise QkvError(f"the translation of {command.input} is a file: add --output with its name.")


def models_of(command: Translate) -> list[Path]:
    """The folders of the models, in the order of the steps."""
    if command.model.exists():
        return [command.model]
    from qkv.api.published import located, route

    if command.pivot is None:
        return [located(command.model)]
    check_pivot(command)
    return route(str(command.model), command.pivot)


def check_pivot(command: Translate) -> None:
    """The first step gives the second one text, and nothing else."""
    glossary = command.options.glossary.terms
    others = command.ensemble or command.memory != NO_MEMORY or command.output is not None
    if glossary or others or not line_translation(command).only_text:
        raise QkvError(
            "--pivot translates texts and lines to text: leave out --output, --glossary, --memory, --ensemble, --json, --scores, --alignments, "
            "--num-hypotheses and --min-confidence."
        )


def in_between(options: TranslationOptions) -> TranslationOptions:
    """The options of the first step: what is about the wording is for the last one."""
    return TranslationOptions(protect=options.protect, beam_size=options.beam_size)


def open_model(command: Translate, model: Path) -> "Translator":
    translator, *others = (open_translator(command, path) for path in (model, *command.ensemble))
    return translator._together_with(others)


def open_translator(command: Translate, folder: Path) -> "Translator":
    from qkv.families.loading import load_for
    from qkv.families.translator.product import Translator
    from qkv.progress.delayed import warn

    return load_for(folder, "translate", Translator, command.running, warn)


def line_translation(command: Translate) -> "LineTranslation":
    from qkv.families.translator.lines import LineTranslation

    return LineTranslation(
        options=command.options, confidence=command.confidence, form=command.form, memory=command.memory
    )


# Input -----------------------------------------------------------------------------------------------


def chunks(command: Translate) -> Iterator[list[str]]:
    if command.text:
        return iter([[line.removesuffix("\r") for text in command.text for line in text.split("\n")]])
    if command.input is not None:
        from qkv.runtime.file_job import lines_of

        return lines_of(command.input, 0)
    return standard_input()
