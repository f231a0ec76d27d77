"""`qkv translate`: translate texts or lines, one output line for each."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qkv.cli.inputs import OptionalFile, OptionalOutput
from qkv.cli.options import read_options
from qkv.cli.pace import Pace
from qkv.cli.string_types import STRING_TYPES, StringType
from qkv.cli.texts import LINES_AT_ONCE, check_text, standard_input
from qkv.errors import QkvError
from qkv.families.translator.options import DEFAULTS, PROTECTED, TranslationOptions
from qkv.flags import REPEATED, Flag, Positional, Repeated
from qkv.runtime.running import DEFAULT_RUNNING, Running
from qkv.text.glossary import Glossary
from qkv.text.protect import Kind

if TYPE_CHECKING:
    from qkv.families.translator.product import Translator
    from qkv.families.translator.translations import Translation

UNSURE = "[unsure] "  # marks translations below --min-confidence
COMMON = {
    "input", "output", "target-language", "beam-size", "length-penalty", "num-hypotheses", "glossary", "protect", "scores",
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
    """Folder of the model."""
    text: Positional[tuple[str, ...]] = ()
    """Text to translate, line by line. By default, lines are read from --input or from standard input."""
    input: OptionalFile = None
    """File to translate, line by line."""
    output: OptionalOutput = None
    """File for the translations of --input. If the job is interrupted, the same command resumes it."""
    options: Annotated[TranslationOptions, Flag(name=""), REPEATED] = DEFAULTS
    scores: bool = False
    """After each translation print a tab, its log-probability, a tab, and the probability that it is good. The latter is
    empty for copied lines and for models without calibration. Tabs in the translation become spaces."""
    json: bool = False
    """Print one JSON object per line, with scores, words and alignments."""
    min_confidence: float | None = None
    """Mark translations whose probability of being good is lower than this."""
    withhold: bool = False
    """Print an empty line instead of a translation that --min-confidence would mark."""
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
    from qkv.cli.file_job import FileJob
    from qkv.cli.progress import count_progress

    decoding = replace(command.options, alignments=command.options.alignments or command.json)
    translator = open_model(command)
    check_confidence(command, translator)
    if command.output is not None and command.input is not None:
        job = FileJob(command.input, command.output, identity(command))
        job.run(lambda first, lines, done: records(command, translator, decoding, lines, done, first))
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    number, pace = 1, Pace(LINES_AT_ONCE)
    for lines in chunks(command):
        with count_progress("translating", len(lines)) as done:
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
        raise QkvError("give either texts or --input, not both.")
    if command.output is not None and command.input is None:
        raise QkvError("--output needs --input. Without --input, translations go to standard output.")
    if command.withhold and command.min_confidence is None:
        raise QkvError("--withhold needs --min-confidence.")
    if command.min_confidence is not None and not 0 <= command.min_confidence <= 1:
        raise QkvError("--min-confidence must be in [0, 1].")


def open_model(command: Translate) -> "Translator":
    from qkv.cli.progress import warn
    from qkv.families.loading import load_for
    from qkv.families.translator.product import Translator

    translator, *others = (
        load_for(path, "translate", Translator, command.running, warn)
        for path in (command.model, *command.ensemble)
    )
    return translator.with_others(*others) if others else translator


def check_confidence(command: Translate, translator: "Translator") -> None:
    if command.min_confidence is not None and translator.defaults.confidence is None:
        raise QkvError(
            f"{command.model} has no calibrated confidence: it was trained by an older version of qkv, or with too little "
            "validation data. Train it again with more."
        )


# Output --------------------------------------------------------------------------------------------


def records(
    command: Translate,
    translator: "Translator",
    decoding: "TranslationOptions",
    lines: list[str],
    done: Any,
    first: int = 1,
) -> list[str]:
    """The output lines for some input lines. `first` is the number of the first one."""
    if prints_only_text(command):
        return [without_line_breaks(text) for text in translator.translate(lines, decoding, done=done)]
    found = []
    for number, (line, hypotheses) in enumerate(
        zip(lines, translator.hypotheses(lines, decoding, done=done), strict=True), first
    ):
        if command.json:
            found.append(as_json(command, number, line, hypotheses))
            continue
        for hypothesis in hypotheses:
            columns = [str(number)] if command.options.num_hypotheses > 1 else []
            columns.append(without_line_breaks(shown_text(command, hypothesis)))
            if command.options.num_hypotheses > 1 or command.scores or command.options.alignments:
                columns[-1] = columns[-1].replace("\t", " ")  # a tab separates columns
            if command.scores:
                confidence = "" if hypothesis.confidence is None else f"{hypothesis.confidence:.3f}"
                columns += [f"{hypothesis.log_probability:.4f}", confidence]
            if command.options.alignments:
                shift = 1 if is_unsure(command, hypothesis) else 0  # the mark is a word
                columns.append("" if shift and command.withhold else hypothesis.pharaoh(shift))
            found.append("\t".join(columns))
    return found


def prints_only_text(command: Translate) -> bool:
    """Whether the output has neither scores nor columns, so that scores need not be computed."""
    columns = command.scores or command.options.alignments or command.options.num_hypotheses > 1
    return not (columns or command.json or command.min_confidence is not None)


def shown_text(command: Translate, hypothesis: "Translation") -> str:
    if not is_unsure(command, hypothesis):
        return hypothesis.text
    return "" if command.withhold else f"{UNSURE}{hypothesis.text}"


def is_unsure(command: Translate, hypothesis: "Translation") -> bool:
    """A copied line has no confidence and is never unsure."""
    minimum, confidence = command.min_confidence, hypothesis.confidence
    return minimum is not None and confidence is not None and confidence < minimum


def is_withheld(command: Translate, hypothesis: "Translation") -> bool:
    return command.withhold and is_unsure(command, hypothesis)


def as_json(command: Translate, number: int, line: str, hypotheses: "list[Translation]") -> str:
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
        for each in hypotheses
    ]
    return json.dumps({"line": number, "source": line, "translations": translations}, ensure_ascii=False)


def without_line_breaks(text: str) -> str:
    """Each input line gets one output line, whatever the model generates."""
    return text.replace("\r", " ").replace("\n", " ")


# Input -----------------------------------------------------------------------------------------------


def chunks(command: Translate) -> Iterator[list[str]]:
    if command.text:
        return iter([[line.removesuffix("\r") for text in command.text for line in text.split("\n")]])
    if command.input is not None:
        from qkv.cli.file_job import lines_of

        return lines_of(command.input, 0)
    return standard_input()


def identity(command: Translate) -> dict[str, Any]:
    """Identifies a job: the models, and every option that can change a translation."""
    from dataclasses import asdict

    from qkv.checkpoint.bundle import CONFIG_FILE, MODEL_FILE
    from qkv.checkpoint.files import HASH, file_hash
    from qkv.checkpoint.header import read_header

    irrelevant = ("model", "ensemble", "input", "output")
    options = {name: value for name, value in asdict(command).items() if name not in irrelevant}
    del options["options"]["batch_tokens"], options["running"]["threads"]
    models = [  # the weights state their hash; computing it would take longer than opening a large model
        (read_header(folder / MODEL_FILE).metadata.get(HASH), file_hash(folder / CONFIG_FILE))
        for folder in (command.model, *command.ensemble)
    ]
    return {"options": options, "models": models}
