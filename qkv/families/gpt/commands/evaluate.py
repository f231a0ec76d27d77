"""`qkv evaluate MODEL --text FILE`: how surprised a language model is by a text, or by music."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from qkv.cli.options import read_options
from qkv.errors import UserError

if TYPE_CHECKING:
    from qkv.families.gpt.product import Generator

Files = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class EvaluateText:
    model: tyro.conf.Positional[Path]
    """Folder of a language model."""
    text: Files = ()
    """Texts that it has not seen: each file is a document, or of .jsonl each line."""
    music: Files = ()
    """Music instead, for a model of music: chorales as .json, or MIDI files."""
    part: Literal["train", "valid", "test"] = "test"
    """Part of a file of chorales."""
    json: bool = False
    """Everything as one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateText,
        arguments,
        prog="qkv evaluate",
        description="How likely a language model finds a text, read in windows of its context of which every token sees "
        "at least half: perplexity per token and per word, and bits per byte, which compares any two models.",
    )
    from qkv.families.gpt.product import Generator
    from qkv.families.loading import load_for

    if bool(command.text) == bool(command.music):
        raise UserError("give either --text or --music.")
    generator = load_for(command.model, "evaluate", Generator)
    if (generator.defaults.token_type == "notes") != bool(command.music):
        wanted = (
            "--music, for it is a model of music" if command.text else "--text, for it is a model of text"
        )
        raise UserError(f"{command.model} needs {wanted}.")
    facts = of_text(generator, command.text) if command.text else of_music(generator, command)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.json:
        print(json.dumps(facts, indent=2))
        return
    wide = max(map(len, facts)) + 2
    for name, value in facts.items():
        shown = "beyond all numbers" if value is None else f"{value:,}" if isinstance(value, int) else value
        print(f"{name.replace('_', ' '):<{wide}}{shown}")


def of_text(generator: Generator, paths: tuple[Path, ...]) -> dict[str, Any]:
    from qkv.cli.terminal import counting
    from qkv.data.documents import read_documents
    from qkv.evaluation.perplexity import Surprise

    texts = read_documents(paths).texts
    documents = [generator.tokenizer.encode(text) for text in texts]
    with counting("reading", sum(map(len, documents)), lines=True) as done:
        nats = -sum(float(generator.log_probabilities_of(ids, done).double().sum()) for ids in documents)
    return Surprise.of(texts, nats, sum(map(len, documents))).to_dict()


def of_music(generator: Generator, command: EvaluateText) -> dict[str, Any]:
    from qkv.cli.terminal import counting, say
    from qkv.data.chorales import VOICES, is_midi, read_chorales, read_midi

    chorales = []
    for path in command.music:
        parts = {command.part: [read_midi(path, say)]} if is_midi(path) else read_chorales(path)
        if command.part not in parts:
            raise UserError(f"{path} has no part {command.part}: it has {', '.join(parts)}.")
        chorales += parts[command.part]
    frames = sum(map(len, chorales))
    with counting("listening", VOICES * frames, lines=True) as done:
        nats = generator.nats_of_music(chorales, done)
    return {
        "chorales": len(chorales),
        "frames": frames,
        "negative_log_likelihood_per_frame": round(nats / frames, 4),
        "negative_log_likelihood_per_note": round(nats / frames / VOICES, 4),
    }
