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


def main(arguments: list[str]) -> None:
    command = read_options(
        Info,
        arguments,
        prog="qkv info",
        description="Show what a model is, what it was trained on, and how good it is.",
    )
    print(info(command.model))
