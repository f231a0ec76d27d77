"""`qkv evaluate` of a text classifier of any family."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.label_evaluation_options import LabelEvaluation
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True)
class EvaluateLabels:
    model: Positional[Path]
    """Folder of a text classifier."""
    options: Annotated[LabelEvaluation, Flag(name="")] = field(default_factory=LabelEvaluation)
    json: bool = False
    """Print everything as one JSON document."""
    running: Annotated[Running, Flag(name="")] = EXACT


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateLabels,
        arguments,
        prog="qkv evaluate",
        description="Measure the accuracy of a text classifier on labeled texts, or the correlation if it predicts numbers.",
    )
    use_threads(command.running.threads)
    from qkv.families.label_evaluation import evaluate_labels
    from qkv.progress.display import command_display

    report = evaluate_labels(command.model, command.options, command.running, command_display())
    print(json.dumps(report.to_dict(), ensure_ascii=False) if command.json else str(report).rstrip("\n"))
