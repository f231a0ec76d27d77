"""`qkv evaluate` of a language model: perplexity on text or music."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.errors import QkvError
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running

if TYPE_CHECKING:
    from qkv.families.gpt.product import LanguageModel

Files = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]


@dataclass(frozen=True, kw_only=True)
class EvaluateText:
    model: Positional[Path]
    """Folder of a language model."""
    text: Files = ()
    """Unseen text. Each file is a document; of .jsonl, each line."""
    music: Files = ()
    """Music, for a music model: chorales as .json, or MIDI files."""
    part: Literal["train", "valid", "test"] = "test"
    """Part of a file of chorales to use."""
    json: bool = False
    """Print everything as one JSON document."""
    running: Annotated[Running, Flag(name="")] = EXACT


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateText,
        arguments,
        prog="qkv evaluate",
        description="Perplexity of a language model per token and per word, and bits per byte, which can be compared "
        "between any two models. Long texts are read in overlapping windows.",
    )
    use_threads(command.running.threads)
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    if bool(command.text) == bool(command.music):
        raise QkvError("give either --text or --music.")
    generator = load_for(command.model, "evaluate", LanguageModel, command.running, warn)
    if (generator._defaults.token_type == "notes") != bool(command.music):
        wanted = (
            "--music, because it is a music model" if command.text else "--text, because it is a text model"
        )
        raise QkvError(f"{command.model} needs {wanted}.")
    facts = score_text(generator, command.text) if command.text else score_music(generator, command)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.json:
        print(json.dumps(facts, indent=2))
        return
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        shown = "infinite" if value is None else f"{value:,}" if isinstance(value, int) else value
        print(f"{name.replace('_', ' '):<{width}}{shown}")


def score_text(generator: LanguageModel, paths: tuple[Path, ...]) -> dict[str, Any]:
    from qkv.data.documents import read_documents
    from qkv.evaluation.perplexity import TextLoss
    from qkv.progress.terminal import count_progress

    texts = read_documents(paths).texts
    documents = [generator.tokenizer.encode(text) for text in texts]
    with count_progress("reading", sum(map(len, documents)), lines=True) as done:
        nats = -sum(
            float(generator._log_probabilities_of(ids, done).sum(dtype="float64")) for ids in documents
        )
    return TextLoss.of(texts, nats, sum(map(len, documents))).to_dict()


def score_music(generator: LanguageModel, command: EvaluateText) -> dict[str, Any]:
    from qkv.data.chorales import VOICES, is_midi, read_chorales, read_midi
    from qkv.progress.terminal import count_progress, say

    chorales = []
    for path in command.music:
        parts = {command.part: [read_midi(path, say)]} if is_midi(path) else read_chorales(path)
        if command.part not in parts:
            raise QkvError(f"{path} has no part {command.part}, only {', '.join(parts)}.")
        chorales += parts[command.part]
    frames = sum(map(len, chorales))
    with count_progress("reading", VOICES * frames, lines=True) as done:
        nats = generator._nats_of_music(chorales, done)
    return {
        "chorales": len(chorales),
        "frames": frames,
        "negative_log_likelihood_per_frame": round(nats / frames, 4),
        "negative_log_likelihood_per_note": round(nats / frames / VOICES, 4),
    }
