"""`qkv evaluate` of DALL-E and its codebooks."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.cli.fields import names_in
from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.dalle.evaluation_options import DrawingEvaluation
from qkv.flags import Flag, Positional
from qkv.runtime.running import EXACT, Running


@dataclass(frozen=True, kw_only=True)
class EvaluateDrawing:
    model: Positional[Path]
    """Folder of the model."""
    options: Annotated[DrawingEvaluation, Flag(name="")] = field(default_factory=DrawingEvaluation)
    json: bool = False
    """Print everything as one JSON document."""
    running: Annotated[Running, Flag(name="")] = EXACT


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateDrawing,
        arguments,
        prog="qkv evaluate",
        description="Measure how much of its captions DALL-E draws, or how well a codebook reconstructs images.",
    )
    use_threads(command.running.threads)
    from qkv.families.dalle.evaluation import measure_drawings
    from qkv.progress.display import command_display

    given = {name.lstrip("-").replace("-", "_"): True for name in names_in(arguments)}
    report = measure_drawings(command.model, command.options, command.running, command_display(), given)
    print(json.dumps(report.to_dict(), ensure_ascii=False) if command.json else str(report).rstrip("\n"))
    report.save_sheet()
