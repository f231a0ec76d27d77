"""`qkv models`: the published translators, by language pair."""

from dataclasses import dataclass
from typing import Annotated

from qkv.api.published import ModelFilters, PublishedModels, checked_pair, listed_models
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional
from qkv.progress.delayed import warn


@dataclass(frozen=True, kw_only=True)
class Models:
    pairs: Positional[tuple[str, ...]] = ()
    """Language pairs, such as en-de. By default all."""
    filters: Annotated[ModelFilters, Flag(name="")] = ModelFilters()  # noqa: RUF009  (it is frozen)
    json: bool = False
    """Print one JSON document."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Models,
        arguments,
        prog="qkv models",
        description=(
            "List published translators, which `qkv get` installs and `qkv translate` uses by language pair:\n"
            "  qkv models en-de\n"
            "  qkv models --language fr --from firefox\n"
            "  qkv models --installed"
        ),
    )
    pairs = [checked_pair(each) for each in command.pairs] if command.pairs else [None]
    found = PublishedModels(each for pair in pairs for each in listed_models(pair, command.filters))
    if command.json:
        from qkv.cli.reports import print_json

        print_json([each.to_dict() for each in found])
        return
    if not found:
        warn("no published translator matches. `qkv models` lists all of them.")
        return
    print(found)
