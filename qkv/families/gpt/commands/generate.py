"""`qkv generate`: what a language model makes of a beginning; text as it comes, or music as a MIDI file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from qkv.cli.inputs import ComputeType
from qkv.cli.options import check_output, read_options
from qkv.cli.threads import use_threads
from qkv.errors import UserError
from qkv.families.gpt.options import GenerationOptions

if TYPE_CHECKING:
    from qkv.families.gpt.product import Generator

OutputFile = Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE.mid", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Generate:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    prompt: tyro.conf.Positional[str] = ""
    """How the text begins; - reads it from standard input. Of music, a MIDI file. Without one, the model begins."""
    options: Annotated[GenerationOptions, tyro.conf.arg(name="")] = field(default_factory=GenerationOptions)
    output: OutputFile = None
    """Where music is written."""
    threads: int | None = None
    """Cores to use; by default all."""
    compute_type: ComputeType = "float32"
    """Number format: int8 is the fastest on a CPU, and changes a word now and then."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Generate,
        arguments,
        prog="qkv generate",
        description="Continue a text, or make music. The prompt is printed too, so that standard output has the whole.",
    )
    generation = command.options
    generator = opened(command)
    if generator.defaults.token_type == "notes":
        compose(generator, command, generation)
    else:
        write(generator, command, generation)


def opened(command: Generate) -> Generator:
    from qkv.cli.terminal import warn
    from qkv.families.gpt.product import Generator
    from qkv.families.loading import load_for

    use_threads(command.threads)
    generator = load_for(command.model, "generate", Generator)
    return generator.computing_in(command.compute_type, warn)


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
    if command.options.stop:
        raise UserError("--stop is for text: leave it out.")
    check_output("-o", command.output)
    beginning = read_midi(Path(command.prompt), say) if command.prompt else []
    with counting("composing", command.options.max_new_tokens) as done:
        chorale = generator.compose(beginning, generation, lambda: tell_of_sliding(generator), done)
    if not chorale:
        raise UserError("not one sixteenth was made: ask for at least 4 tokens.")
    write_midi(command.output, chorale)
    say(f"{len(chorale) / PER_BEAT:g} beats in {command.output}")


def tell_of_sliding(generator: Generator) -> None:
    from qkv.cli.terminal import say

    context = generator.model.config.max_length
    say(
        f"qkv: the text is longer than the model's context of {context:,} tokens: what is older than the last "
        f"{context // 2:,} to {context:,} is forgotten from here on."
    )
