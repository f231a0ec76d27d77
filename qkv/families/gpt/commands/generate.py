"""`qkv generate`: continue a text, or compose music as a MIDI file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.errors import QkvError
from qkv.families.gpt.options import DEFAULTS, GenerationOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.families.gpt.product import LanguageModel

OutputFile = Annotated[Path | None, Flag(aliases=["-o", "--out"], metavar="FILE.mid")]


@dataclass(frozen=True, kw_only=True)
class Generate:
    model: Positional[Path]
    """Folder of the model."""
    prompt: Positional[str] = ""
    """Text to continue; - reads it from standard input. For music, a MIDI file. By default, nothing."""
    options: Annotated[GenerationOptions, Flag(name="")] = DEFAULTS
    output: OutputFile = None
    """File for music, .mid."""
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print one JSON document at the end: the prompt and its continuation, or the file of the music."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Generate,
        arguments,
        prog="qkv generate",
        description="Continue a text, or compose music. The prompt is printed too.",
    )
    generation = command.options
    generator = open_model(command)
    if generator._defaults.token_type == "notes":
        compose(generator, command, generation)
    else:
        write(generator, command, generation)


def open_model(command: Generate) -> LanguageModel:
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    use_threads(command.running.threads)
    return load_for(command.model, "generate", LanguageModel, command.running, warn)


def write(generator: LanguageModel, command: Generate, generation: GenerationOptions) -> None:
    if command.output is not None:
        raise QkvError("--output is for music. This model writes text to standard output.")
    slides: list[bool] = []
    prompt = prompt_of(command)
    stream = generator.stream(prompt, generation, lambda: slides.append(True))
    print_text(prompt, stream, as_json=command.json)
    if slides:  # after the text, whose lines it would interrupt
        warn_about_sliding(generator)


def print_text(prompt: str, stream: Iterator[str], *, as_json: bool) -> None:
    if as_json:
        from qkv.cli.reports import print_json

        print_json({"prompt": prompt, "continuation": "".join(stream)})
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(prompt)
    sys.stdout.flush()
    for text in stream:
        sys.stdout.write(text)
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()


def prompt_of(command: Generate) -> str:
    from qkv.cli.texts import check_text, show_how_to_end
    from qkv.data.documents import normalize_line_ends
    from qkv.data.lines import decode_line

    if command.prompt != "-":
        check_text(command.prompt)
        return normalize_line_ends(command.prompt)
    show_how_to_end()
    lines = sys.stdin.buffer.read().split(b"\n")
    return "\n".join(decode_line(line, number, "standard input") for number, line in enumerate(lines, 1))


def compose(generator: LanguageModel, command: Generate, generation: GenerationOptions) -> None:
    from qkv.checkpoint.outputs import check_new_file
    from qkv.data.chorales import PER_BEAT, read_midi
    from qkv.progress.terminal import count_progress, say

    if command.output is None:
        raise QkvError("this model composes music: give --output NAME.mid.")
    if command.options.stop:
        raise QkvError("--stop is for text: leave it out for music.")
    check_new_file("output", command.output, overwrite=command.overwrite)
    beginning = read_midi(Path(command.prompt), say) if command.prompt else []
    with count_progress("composing", command.options.max_new_tokens) as done:
        slides = partial(warn_about_sliding, generator)
        chorale = generator.compose(
            beginning, generation, slides, done, output=command.output, overwrite=command.overwrite
        )
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"output": str(command.output), "beats": len(chorale) / PER_BEAT})
    say(f"{len(chorale) / PER_BEAT:g} beats in {command.output}")


def warn_about_sliding(generator: LanguageModel) -> None:
    from qkv.progress.terminal import warn

    context = generator.config.max_length
    warn(
        f"the text is longer than the model's context of {context:,} tokens: after them the model saw only the last "
        f"{context // 2:,} to {context:,} tokens."
    )
