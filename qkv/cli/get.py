"""`qkv get`: install a published translator by language pair."""

from dataclasses import dataclass
from typing import Annotated

from qkv.api.published import PublisherOption, checked_pair, install
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional
from qkv.published.pairs import written


@dataclass(frozen=True, kw_only=True)
class Get:
    pairs: Positional[tuple[str, ...]]
    """Language pairs, such as en-de."""
    options: Annotated[PublisherOption, Flag(name="")] = PublisherOption()  # noqa: RUF009  (it is frozen)
    json: bool = False
    """Print one JSON document: the folder of each pair."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Get,
        arguments,
        prog="qkv get",
        description=(
            "Download and import published translators, and print their folders:\n"
            "  qkv get en-de de-en\n"
            "  qkv get en-de --from argos\n"
            "Without a network, QKV_MODELS=FOLDER names a folder or a server with the files."
        ),
    )
    found = {}
    for pair in [checked_pair(each) for each in command.pairs]:
        found[written(pair)] = str(install(pair, command.options.publisher))
        if not command.json:
            print(found[written(pair)], flush=True)
    if command.json:
        from qkv.cli.reports import print_json

        print_json(found)
