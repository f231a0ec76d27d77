"""`qkv push`: upload a model to the hub."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from qkv.api.publishing import PushOptions, push
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional


@dataclass(frozen=True, kw_only=True)
class Push:
    model: Positional[Path]
    """Folder of a bundle, or of an export."""
    name: Positional[str]
    """OWNER/NAME on the hub."""
    options: Annotated[PushOptions, Flag(name="")] = field(default_factory=PushOptions)
    json: bool = False
    """Print one JSON document: the address of the model."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Push,
        arguments,
        prog="qkv push",
        description=(
            "Upload a model to Hugging Face's hub. Log in first with `hf auth login`, or set HF_TOKEN:\n"
            "  qkv push runs/en-de me/en-de --license cc-by-4.0"
        ),
    )
    address = push(command.model, command.name, **asdict(command.options))
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"address": address})
    else:
        print(address)
