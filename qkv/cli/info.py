"""`qkv info`: describe a model from its bundle."""

from dataclasses import dataclass
from pathlib import Path

from qkv.api.information import info
from qkv.api.published import located
from qkv.cli.options import read_options
from qkv.flags import Positional


@dataclass(frozen=True, kw_only=True)
class Info:
    model: Positional[Path]
    """Folder of the model, or a language pair such as en-de."""
    json: bool = False
    """Print one JSON document: the facts, and the report of the training as in report.json."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Info,
        arguments,
        prog="qkv info",
        description="Show what a model is, what it was trained on, and how good it is.",
    )
    folder = located(command.model)
    facts = info(folder)
    if not command.json:
        print(facts)
        return
    from qkv.checkpoint.files import read_json
    from qkv.cli.reports import print_json

    report = folder / "report.json"
    print_json(
        {
            "model": str(folder),
            "facts": facts,
            "report": read_json(report) if report.is_file() else None,
        }
    )
