"""`qkv translate`: text or lines in, one line for each out."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from qkv.cli.inputs import ComputeType
from qkv.cli.options import read_options
from qkv.cli.pace import Pace
from qkv.cli.string_types import STRING_TYPES, StringType
from qkv.cli.texts import LINES_AT_ONCE, check_text, standard_input
from qkv.cli.threads import check_threads, use_threads
from qkv.errors import UserError
from qkv.families.translator.options import DEFAULTS, PROTECTED, TranslationOptions
from qkv.text.glossary import Glossary
from qkv.text.protect import Kind

if TYPE_CHECKING:
    from qkv.families.translator.product import Translator
    from qkv.families.translator.translations import Translation

UNSURE = "[unsure] "  # before what --min-confidence marks


def kinds_of(names: str) -> tuple[Kind, ...]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted == ["none"]:
        return ()
    known = tuple(kind for name in wanted for kind in PROTECTED if kind == name)
    if len(known) < len(wanted) or not wanted:
        unknown = [name for name in wanted if name not in known]
        raise UserError(f"--protect knows {', '.join(PROTECTED)} and none, not '{', '.join(unknown)}'.")
    return known


STRING_TYPES[Glossary] = StringType(
    metavar="FILE", read=lambda name: Glossary.read(Path(name)), show=lambda glossary: ""
)
STRING_TYPES[tuple[Kind, ...]] = StringType(
    metavar="KIND,KIND,…", read=kinds_of, show=lambda kinds: ",".join(kinds) or "none"
)


@dataclass(frozen=True, kw_only=True)
class Translate:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    text: tyro.conf.Positional[tuple[str, ...]] = ()
    """What to translate, line by line; without it, lines are read from --input or from standard input."""
    input: Path | None = None
    """File whose lines are translated."""
    output: Path | None = None
    """File for the translations; a job that was interrupted goes on where it stopped when it is started again."""
    options: Annotated[TranslationOptions, tyro.conf.arg(name=""), tyro.conf.UseAppendAction] = DEFAULTS
    scores: bool = False
    """After each translation a tab, its log-probability, a tab, and how likely it is good (nothing for a line that was
    copied, or where the model does not know). Tabs in the translation become spaces."""
    json: bool = False
    """One JSON object for each line, with all that is known of its translations."""
    min_confidence: float | None = None
    """Mark translations that are good with less than this probability."""
    withhold: bool = False
    """Leave out what --min-confidence would mark: an empty line instead."""
    ensemble: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Another model with the same vocabulary; their probabilities are averaged. May be given several times."""
    threads: int | None = None
    """Cores to use; by default all."""
    compute_type: ComputeType = "int8"
    """Number format: int8 is the fastest on a CPU, float32 is what the model was trained in."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Translate,
        arguments,
        prog="qkv translate",
        description="Translate text, or lines from a file or standard input, one line for each.",
    )
    check(command)
    from qkv.cli.file_job import FileJob
    from qkv.cli.terminal import counting

    decoding = replace(command.options, alignments=command.options.alignments or command.json)
    translator = opened(command)
    check_confidence(command, translator)
    if command.output is not None and command.input is not None:
        job = FileJob(command.input, command.output, identity(command))
        job.run(lambda first, lines, done: records(command, translator, decoding, lines, done, first))
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    number, pace = 1, Pace(LINES_AT_ONCE)
    for lines in chunks(command):
        with counting("translating", len(lines)) as done:
            for portion in pace.portions(lines):
                for record in records(command, translator, decoding, portion, done, first=number):
                    print(record)
                sys.stdout.flush()
                number += len(portion)


def check(command: Translate) -> None:
    options = command.options
    for text in (*command.text, *options.contain, *options.avoid, options.prefix):
        check_text(text)
    if command.text and command.input is not None:
        raise UserError("give either texts or --input, not both.")
    if command.output is not None and command.input is None:
        raise UserError("--output belongs to --input: without it, translations go to standard output.")
    if command.withhold and command.min_confidence is None:
        raise UserError("--withhold needs --min-confidence, which says what is left out.")
    if command.min_confidence is not None and not 0 <= command.min_confidence <= 1:
        raise UserError("--min-confidence is a probability, from 0 to 1.")
    check_threads(command.threads)


def opened(command: Translate) -> "Translator":
    from qkv.cli.terminal import warn
    from qkv.families.loading import load_for
    from qkv.families.translator.product import Translator

    use_threads(command.threads)
    translator, *others = (
        load_for(path, "translate", Translator) for path in (command.model, *command.ensemble)
    )
    if others:
        translator = translator.with_others(*others)
    return translator.computing_in(command.compute_type, warn)


def check_confidence(command: Translate, translator: "Translator") -> None:
    if command.min_confidence is not None and translator.defaults.confidence is None:
        raise UserError(
            f"{command.model} does not know how sure it is: it was trained before qkv calibrated models, or with "
            "too little validation data; train it again with more."
        )


# What is printed --------------------------------------------------------------------------------------------


def records(
    command: Translate,
    translator: "Translator",
    decoding: "TranslationOptions",
    lines: list[str],
    done: Any,
    first: int = 1,
) -> list[str]:
    """The lines of the output for lines of the input, of which the first has this number."""
    found = []
    for number, (line, answers) in enumerate(
        zip(lines, translator.hypotheses(lines, decoding, done=done), strict=True), first
    ):
        if command.json:
            found.append(as_json(command, number, line, answers))
            continue
        for answer in answers:
            columns = [str(number)] if command.options.num_hypotheses > 1 else []
            columns.append(without_breaks(told(command, answer)))
            if command.options.num_hypotheses > 1 or command.scores or command.options.alignments:
                columns[-1] = columns[-1].replace("\t", " ")  # which is what stands between columns
            if command.scores:
                sure = "" if answer.confidence is None else f"{answer.confidence:.3f}"
                columns += [f"{answer.log_probability:.4f}", sure]
            if command.options.alignments:
                shift = 1 if is_unsure(command, answer) else 0  # by the word that marks it
                columns.append("" if shift and command.withhold else answer.pharaoh(shift))
            found.append("\t".join(columns))
    return found


def told(command: Translate, answer: "Translation") -> str:
    if not is_unsure(command, answer):
        return answer.text
    return "" if command.withhold else f"{UNSURE}{answer.text}"


def is_unsure(command: Translate, answer: "Translation") -> bool:
    """What was copied was not translated, and there is nothing to be unsure of."""
    least, sure = command.min_confidence, answer.confidence
    return least is not None and sure is not None and sure < least


def is_withheld(command: Translate, answer: "Translation") -> bool:
    return command.withhold and is_unsure(command, answer)


def as_json(command: Translate, number: int, line: str, answers: "list[Translation]") -> str:
    translations = [
        {
            "text": None if is_withheld(command, each) else each.text,
            "score": round(each.score, 5),
            "log_probability": round(each.log_probability, 5),
            "confidence": None if each.confidence is None else round(each.confidence, 4),
            **({"unsure": is_unsure(command, each)} if command.min_confidence is not None else {}),
            "words": []
            if is_withheld(command, each)
            else [[word.text, round(word.log_probability, 5)] for word in each.words],
            "alignment": None if each.alignment is None or is_withheld(command, each) else each.pharaoh(),
        }
        for each in answers
    ]
    return json.dumps({"line": number, "source": line, "translations": translations}, ensure_ascii=False)


def without_breaks(text: str) -> str:
    """A model may say anything, but each line of input gets one line of output."""
    return text.replace("\r", " ").replace("\n", " ")


# What is read -----------------------------------------------------------------------------------------------


def chunks(command: Translate) -> Iterator[list[str]]:
    if command.text:
        return iter([[line.removesuffix("\r") for text in command.text for line in text.split("\n")]])
    if command.input is not None:
        from qkv.cli.file_job import lines_of

        return lines_of(command.input, 0)
    return standard_input()


def identity(command: Translate) -> dict[str, Any]:
    """What makes two jobs the same: the model's files and every option that can change a translation."""
    from dataclasses import asdict

    from qkv.checkpoint.bundle import CONFIG_FILE, MODEL_FILE
    from qkv.checkpoint.files import file_hash

    elsewhere = ("model", "also", "input", "output", "threads")
    options = {name: value for name, value in asdict(command).items() if name not in elsewhere}
    del options["options"]["batch_tokens"]
    models = [
        file_hash(folder / name)
        for folder in (command.model, *command.ensemble)
        for name in (MODEL_FILE, CONFIG_FILE)
    ]
    return {"options": options, "models": models}
