"""`qkv info`: describe a model from its bundle."""

from dataclasses import dataclass
from pathlib import Path

from qkv.api.information import info
from qkv.cli.options import read_options
from qkv.flags import Positional


@dataclass(frozen=True, kw_only=True)
class Info:
    model: Positional[Path]
    """Folder of the model."""
    json: bool = False
    """Print one JSON document: the facts, and the report of the training as in report.json."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Info,
        arguments,
        prog="qkv info",
        description="Show what a model is, what it was trained on, and how good it is.",
    )
    facts = info(command.model)
    if not command.json:
        print(facts)
        return
    from qkv.checkpoint.files import read_json
    from qkv.cli.reports import print_json

    report = command.model / "report.json"
    print_json(
        {
            "model": str(command.model),
            "facts": facts,
            "report": read_json(report) if report.is_file() else None,
        }
    )
