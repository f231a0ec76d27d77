"""`qkv evaluate` of a language model: perplexity on text or music."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.gpt.evaluation_options import LanguageModelEvaluation
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True)
class EvaluateText:
    model: Positional[Path]
    """Folder of a language model."""
    options: Annotated[LanguageModelEvaluation, Flag(name="")] = field(
        default_factory=LanguageModelEvaluation
    )
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
    from qkv.families.gpt.evaluation import evaluate_language_model
    from qkv.progress.display import command_display

    report = evaluate_language_model(command.model, command.options, command.running, command_display())
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.json:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        sys.stdout.write(str(report))
