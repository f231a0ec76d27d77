"""`qkv evaluate` of translations: scores, weaknesses, and comparison with another system."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.families.translator.evaluation_options import TranslationEvaluation
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running

ModelOrFile = Annotated[Path, Flag(metavar="MODEL|FILE")]


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    model: Positional[ModelOrFile]
    """Folder of a model, or a file of translations from any tool, one per line."""
    options: Annotated[TranslationEvaluation, Flag(name="")] = field(default_factory=TranslationEvaluation)
    json: bool = False
    """Print one JSON document instead of tables."""
    running: Annotated[Running, Flag(name="")] = EXACT


def main(arguments: list[str]) -> None:
    command = read_options(
        Evaluate,
        arguments,
        prog="qkv evaluate",
        description="BLEU, chrF and TER by sacrebleu with signatures and 95 % intervals, exact matches, scores by "
        "sentence length, the worst sentences, and what was in the training data.",
    )
    from qkv.families.translator.evaluation import evaluate_translations
    from qkv.progress.display import command_display

    report = evaluate_translations(command.model, command.options, command.running, command_display())
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if command.json:
        print(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        sys.stdout.write(report.page(terminal=sys.stdout.isatty()))
    sys.stdout.flush()
