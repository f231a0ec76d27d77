"""`qkv evaluate` of an image classifier."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.vit.evaluation_options import ImageEvaluation
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True)
class EvaluateClassifier:
    model: Positional[Path]
    """Folder of an image classifier."""
    options: Annotated[ImageEvaluation, Flag(name="")] = field(default_factory=ImageEvaluation)
    json: bool = False
    """Print everything as one JSON document."""
    running: Annotated[Running, Flag(name="")] = EXACT


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateClassifier,
        arguments,
        prog="qkv evaluate",
        description="Measure the accuracy of an image classifier.",
    )
    use_threads(command.running.threads)
    from qkv.families.vit.evaluation import evaluate_images
    from qkv.progress.display import command_display

    report = evaluate_images(command.model, command.options, command.running, command_display())
    print(json.dumps(report.to_dict(), ensure_ascii=False) if command.json else str(report).rstrip("\n"))
