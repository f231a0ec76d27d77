"""`qkv embed`: turn texts into vectors."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.inputs import OptionalFile, OptionalOutput
from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.errors import QkvError, name_inputs
from qkv.families.bert.options import EmbeddingOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running


@dataclass(frozen=True, kw_only=True)
class Embed:
    model: Positional[Path]
    """Folder of the model."""
    text: Positional[tuple[str, ...]] = ()
    """Texts to embed. By default, lines are read from --input or from standard input."""
    input: OptionalFile = None
    """File to embed, line by line."""
    output: OptionalOutput = None
    """File for the vectors: .npy (one row per text) or .jsonl. By default, JSON lines go to standard output."""
    overwrite: bool = False
    """Replace the file if it exists."""
    options: Annotated[EmbeddingOptions, Flag(name="")] = field(default_factory=EmbeddingOptions)
    json: bool = False
    """Print JSON, which is the default. With --output: one document that says what was written."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Embed,
        arguments,
        prog="qkv embed",
        description="Turn texts into vectors. Texts with similar meanings have similar vectors.",
    )
    check(command)
    use_threads(command.running.threads)
    from qkv.families.bert.product import Bert
    from qkv.families.loading import load_for
    from qkv.progress.terminal import count_progress, say, warn

    model = load_for(command.model, "embed", Bert, command.running, warn)
    texts = all_texts(command)
    with name_lines(command), count_progress("embedding", len(texts)) as done:
        vectors = model.embed(texts, command.options, done=done)
    if command.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        for text, vector in zip(texts, vectors.tolist(), strict=True):
            print(record(text, vector))
        return
    from qkv.checkpoint.files import write_file

    if command.output.suffix == ".npy":
        write_file(command.output, npy(vectors))
    else:
        lines = [record(text, vector) for text, vector in zip(texts, vectors.tolist(), strict=True)]
        write_file(command.output, "".join(f"{line}\n" for line in lines).encode())
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"output": str(command.output), "texts": len(vectors), "width": int(vectors.shape[1])})
    say(f"wrote {len(vectors):,} vectors of {vectors.shape[1]} numbers to {command.output}")


def check(command: Embed) -> None:
    from qkv.cli.texts import check_text

    for text in command.text:
        check_text(text)
    if command.text and command.input is not None:
        raise QkvError("give either texts or --input, not both.")
    out = command.output
    if out is not None and out.suffix not in (".npy", ".jsonl"):
        raise QkvError(f"--output must end in .npy or .jsonl, but {out.name} does not.")
    if out is not None:
        from qkv.checkpoint.outputs import check_new_file

        check_new_file("output", out, overwrite=command.overwrite)


def all_texts(command: Embed) -> list[str]:
    from qkv.cli.texts import standard_input
    from qkv.runtime.file_job import lines_of

    if command.text:
        return list(command.text)
    lines = standard_input() if command.input is None else lines_of(command.input, 0)
    texts = [line for part in lines for line in part]
    if not texts:
        raise QkvError("no text to embed: give texts, --input, or lines on standard input.")
    return texts


def name_lines(command: Embed) -> AbstractContextManager[None]:
    """Errors name the line of a text."""
    if command.text:
        return nullcontext()
    return name_inputs(lambda number: f"{command.input or 'standard input'}, line {number + 1}")


def record(text: str, vector: list[float]) -> str:
    return json.dumps(
        {"text": text, "vector": [float(f"{number:.7g}") for number in vector]}, ensure_ascii=False
    )


def npy(vectors: object) -> bytes:
    import io

    import numpy as np

    file = io.BytesIO()
    np.save(file, np.asarray(vectors), allow_pickle=False)
    return file.getvalue()
