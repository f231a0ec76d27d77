"""`qkv generate`: what a language model makes of a beginning; text as it comes, or music as a MIDI file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from qkv.cli.options import check_output, read_options
from qkv.cli.threads import use_threads
from qkv.errors import UserError

if TYPE_CHECKING:
    from qkv.families.gpt.product import GenerationOptions, Generator

OutputFile = Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE.mid", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Generate:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    prompt: tyro.conf.Positional[str] = ""
    """How the text begins; - reads it from standard input. Of music, a MIDI file. Without one, the model begins."""
    tokens: int = 200
    """The most tokens that are added; four are a sixteenth of music."""
    temperature: float = 0.8
    """Below 1 the likely becomes likelier; 0 always takes the likeliest."""
    top_k: int = 0
    """Draw from so many of the likeliest tokens alone; 0 for all."""
    top_p: float = 0.95
    """Draw from the fewest tokens that together are as likely as this."""
    min_p: float = 0.0
    """Draw from tokens at least this share as likely as the likeliest."""
    seed: int = 1
    """The same seed gives the same text."""
    stop: str = ""
    """End before this text."""
    output: OutputFile = None
    """Where music is written."""
    threads: int | None = None
    """Cores to use; by default all."""
    compute: Literal["float32", "bf16", "int8"] = "float32"
    """Numbers to compute with: int8 is the fastest on a CPU, and says other words now and then."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Generate,
        arguments,
        prog="qkv generate",
        description="Continue a text, or make music. The prompt is printed too, so that standard output has the whole.",
    )
    generation = settings_of(command)
    generator = opened(command)
    if generator.defaults.pieces == "notes":
        compose(generator, command, generation)
    else:
        write(generator, command, generation)


def opened(command: Generate) -> Generator:
    from qkv.cli.terminal import warn
    from qkv.families.gpt.product import Generator
    from qkv.families.loading import load_for

    use_threads(command.threads)
    generator = load_for(command.model, "generate", Generator)
    return generator.computing_in(command.compute, warn)


def settings_of(command: Generate) -> GenerationOptions:
    from qkv.families.gpt.product import GenerationOptions

    return GenerationOptions(
        tokens=command.tokens,
        temperature=command.temperature,
        top_k=command.top_k,
        top_p=command.top_p,
        min_p=command.min_p,
        seed=command.seed,
        stop=command.stop,
    )


def write(generator: Generator, command: Generate, generation: GenerationOptions) -> None:
    if command.output is not None:
        raise UserError("-o is for music: this model writes text to standard output; redirect that.")
    from qkv.cli.terminal import err, say

    def slides() -> None:
        if err.is_terminal and sys.stdout.isatty():
            say()  # the text stands in the midst of a line there
        tell_of_sliding(generator)

    prompt = prompt_of(command)
    stream = generator.stream(prompt, generation, slides)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(prompt)
    sys.stdout.flush()
    for text in stream:
        sys.stdout.write(text)
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()


def prompt_of(command: Generate) -> str:
    from qkv.cli.texts import check_text, decoded
    from qkv.data.documents import with_plain_breaks

    if command.prompt != "-":
        check_text(command.prompt)
        return with_plain_breaks(command.prompt)
    lines = sys.stdin.buffer.read().split(b"\n")
    return "\n".join(decoded(line, number, "standard input") for number, line in enumerate(lines, 1))


def compose(generator: Generator, command: Generate, generation: GenerationOptions) -> None:
    from qkv.cli.terminal import counting, say
    from qkv.data.chorales import PER_BEAT, read_midi, write_midi

    if command.output is None:
        raise UserError("this model makes music: say where to write it, with -o NAME.mid.")
    if command.stop:
        raise UserError("--stop is for text: leave it out.")
    check_output("-o", command.output)
    beginning = read_midi(Path(command.prompt), say) if command.prompt else []
    with counting("composing", command.tokens) as done:
        chorale = generator.compose(beginning, generation, lambda: tell_of_sliding(generator), done)
    if not chorale:
        raise UserError("not one sixteenth was made: ask for at least 4 --tokens.")
    write_midi(command.output, chorale)
    say(f"{len(chorale) / PER_BEAT:g} beats in {command.output}")


def tell_of_sliding(generator: Generator) -> None:
    from qkv.cli.terminal import say

    context = generator.model.config.max_length
    say(
        f"qkv: the text is longer than the model's context of {context:,} tokens: what is older than the last "
        f"{context // 2:,} to {context:,} is forgotten from here on."
    )
