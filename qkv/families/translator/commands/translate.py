"""`qkv translate`: text or lines in, one line for each out."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from qkv.cli.options import read_options
from qkv.cli.texts import check_text, standard_input
from qkv.cli.threads import check_threads, use_threads
from qkv.errors import UserError

if TYPE_CHECKING:
    from qkv.families.translator.answers import Answer
    from qkv.families.translator.options import Decoding
    from qkv.families.translator.product import Translator

UNSURE = "[unsure] "  # before what --min-confidence marks

Phrases = tyro.conf.UseAppendAction[tuple[str, ...]]


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
    beam: int | None = None
    """Hypotheses kept at every step; 1 is greedy. The model has its own default."""
    length_penalty: float | None = None
    """Exponent of the length penalty; 0 for none."""
    nbest: int = 1
    """Translations of each line, best first; the number of the line goes before each."""
    patience: float | None = None
    """Stop when so many times the beam have ended; without it, when no better translation can come."""
    coverage_penalty: float = 0.0
    """Weight of a penalty for source words that were hardly looked at."""
    sample: bool = False
    """Draw words by chance instead of searching for the likeliest."""
    temperature: float = 1.0
    """For --sample: below 1 the likely words become likelier, above 1 all become more alike."""
    top_k: int = 0
    """For --sample: only so many of the likeliest words; 0 for all."""
    top_p: float = 1.0
    """For --sample: only the fewest words that together are as likely as this."""
    min_p: float = 0.0
    """For --sample: only words at least this share as likely as the likeliest."""
    seed: int | None = None
    """For --sample: the same seed and text give the same translation; 1 where none is given."""
    repetition_penalty: float = 1.0
    """Above 1, what was said already becomes less likely."""
    no_repeat: int = 0
    """No sequence of so many pieces is said twice; 0 for no such rule."""
    prefix: str = ""
    """Every translation begins with this."""
    contain: Phrases = ()
    """A phrase that every translation contains, in capital and small letters as given; may be given several times."""
    avoid: Phrases = ()
    """A phrase that no translation contains, not even as a part of a word; with another case it is another phrase.
    May be given several times."""
    glossary: Path | None = None
    """File with a source term, a tab and its translation on every line; every term comes out in this form."""
    protect: Annotated[str, tyro.conf.arg(metavar="KIND,KIND,…")] = "placeholders,tags,urls,emails"
    """What is kept as it is, separated by commas: placeholders, tags, urls, emails, numbers; or none."""
    language: str | None = None
    """Target language, for a model of several."""
    scores: bool = False
    """After each translation a tab, its log-probability, a tab, and how likely it is good (nothing for a line that was
    copied, or where the model does not know). Tabs in the translation become spaces."""
    alignments: bool = False
    """After each translation (and its scores) a tab, and which word comes from which: 0-0 1-2 …"""
    json: bool = False
    """One JSON object for each line, with all that is known of its translations."""
    min_confidence: float | None = None
    """Mark translations that are good with less than this probability."""
    withhold: bool = False
    """Leave out what --min-confidence would mark: an empty line instead."""
    also: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Another model with the same vocabulary, which decides with the first; may be given several times."""
    batch_tokens: int = 4_096
    """Source tokens times beams that are decoded together: more is faster, and takes more memory."""
    threads: int | None = None
    """Cores to use; by default all."""
    compute: Literal["float32", "bf16", "int8"] = "int8"
    """Numbers to compute with: int8 is the fastest on a CPU, float32 is what the model was trained in."""


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

    decoding = decoding_of(command)
    translator = opened(command)
    check_confidence(command, translator)
    if command.output is not None and command.input is not None:
        job = FileJob(command.input, command.output, identity(command))
        job.run(lambda first, lines, done: records(command, translator, decoding, lines, done, first))
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    for number, lines in enumerate_chunks(chunks(command)):
        with counting("translating", len(lines)) as done:
            found = records(command, translator, decoding, lines, done, first=number)
        for record in found:
            print(record)
        sys.stdout.flush()


def check(command: Translate) -> None:
    for text in (*command.text, *command.contain, *command.avoid, command.prefix):
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
    drawn = command.temperature != 1 or command.top_k or command.top_p != 1 or command.min_p
    if (drawn or command.seed is not None) and not command.sample:
        raise UserError("--temperature, --top-k, --top-p, --min-p and --seed belong to --sample.")


def opened(command: Translate) -> "Translator":
    from qkv.cli.terminal import warn
    from qkv.families.loading import load_for
    from qkv.families.translator.product import Translator

    use_threads(command.threads)
    translator, *others = (load_for(path, "translate", Translator) for path in (command.model, *command.also))
    if others:
        translator = translator.with_others(*others)
    return translator.computing_in(command.compute, warn)


def decoding_of(command: Translate) -> "Decoding":
    from qkv.decoding.sampling import Sampling
    from qkv.families.translator.options import Decoding
    from qkv.text.glossary import Glossary

    chance: dict[str, int] = {} if command.seed is None else {"seed": command.seed}
    sampling = None
    if command.sample:
        try:
            sampling = Sampling(
                temperature=command.temperature,
                top_k=command.top_k,
                top_p=command.top_p,
                min_p=command.min_p,
            )
        except ValueError as error:
            raise UserError(f"{error}.") from None
    return Decoding(
        beam=command.beam,
        length_penalty=command.length_penalty,
        nbest=command.nbest,
        patience=command.patience,
        coverage_penalty=command.coverage_penalty,
        sampling=sampling,
        **chance,
        repetition_penalty=command.repetition_penalty,
        no_repeat=command.no_repeat,
        prefix=command.prefix,
        contain=tuple(command.contain),
        avoid=tuple(command.avoid),
        glossary=Glossary() if command.glossary is None else Glossary.read(command.glossary),
        protect=kinds_of(command.protect),
        language=command.language,
        batch_tokens=command.batch_tokens,
        alignments=command.alignments or command.json,
    )


def kinds_of(names: str) -> tuple[Any, ...]:
    from qkv.families.translator.options import PROTECTED

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted == ["none"]:
        return ()
    unknown = [name for name in wanted if name not in PROTECTED]
    if unknown or not wanted:
        raise UserError(f"--protect knows {', '.join(PROTECTED)} and none, not '{', '.join(unknown)}'.")
    return tuple(wanted)


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
    decoding: "Decoding",
    lines: list[str],
    done: Any,
    first: int = 1,
) -> list[str]:
    """The lines of the output for lines of the input, of which the first has this number."""
    found = []
    for number, (line, answers) in enumerate(
        zip(lines, translator.answers(lines, decoding, done=done), strict=True), first
    ):
        if command.json:
            found.append(as_json(command, number, line, answers))
            continue
        for answer in answers:
            columns = [str(number)] if command.nbest > 1 else []
            columns.append(without_breaks(told(command, answer)))
            if command.nbest > 1 or command.scores or command.alignments:
                columns[-1] = columns[-1].replace("\t", " ")  # which is what stands between columns
            if command.scores:
                sure = "" if answer.confidence is None else f"{answer.confidence:.3f}"
                columns += [f"{answer.log_probability:.4f}", sure]
            if command.alignments:
                shift = 1 if is_unsure(command, answer) else 0  # by the word that marks it
                columns.append("" if shift and command.withhold else answer.pharaoh(shift))
            found.append("\t".join(columns))
    return found


def told(command: Translate, answer: "Answer") -> str:
    if not is_unsure(command, answer):
        return answer.text
    return "" if command.withhold else f"{UNSURE}{answer.text}"


def is_unsure(command: Translate, answer: "Answer") -> bool:
    """What was copied was not translated, and there is nothing to be unsure of."""
    least, sure = command.min_confidence, answer.confidence
    return least is not None and sure is not None and sure < least


def is_withheld(command: Translate, answer: "Answer") -> bool:
    return command.withhold and is_unsure(command, answer)


def as_json(command: Translate, number: int, line: str, answers: "list[Answer]") -> str:
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


def enumerate_chunks(found: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    number = 1
    for lines in found:
        yield number, lines
        number += len(lines)


def identity(command: Translate) -> dict[str, Any]:
    """What makes two jobs the same: the model's files and every option but where and how fast."""
    from dataclasses import asdict

    from qkv.checkpoint.bundle import CONFIG_FILE, MODEL_FILE
    from qkv.checkpoint.files import file_hash

    free = ("model", "also", "input", "output", "threads", "batch_tokens", "glossary")
    options = {name: value for name, value in asdict(command).items() if name not in free}
    models = [
        file_hash(folder / name)
        for folder in (command.model, *command.also)
        for name in (MODEL_FILE, CONFIG_FILE)
    ]
    glossary = None if command.glossary is None else file_hash(command.glossary)
    return {"options": options, "models": models, "glossary": glossary}
