"""`qkv explore`: a page that shows every step of a model's computation, or a file or an image of it."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.api.exploring import (
    ExploreOptions,
    address_of,
    check_options,
    open_browser,
    open_explorer,
    show,
    web_service,
)
from qkv.cli.options import read_options
from qkv.flags import Flag, Positional
from qkv.listening import listen

if TYPE_CHECKING:
    from qkv.explorer.session import Explorer


@dataclass(frozen=True, kw_only=True)
class Explore:
    model: Positional[Path]
    """Folder of the model."""
    options: Annotated[ExploreOptions, Flag(name="")] = field(default_factory=ExploreOptions)


def main(arguments: list[str]) -> None:
    command = read_options(
        Explore,
        arguments,
        prog="qkv explore",
        description="Walk through a model's computation step by step, with its own numbers, in your browser.",
    )
    options = command.options
    check_options(options)
    from qkv.progress.terminal import say

    explorer, query = open_explorer(command.model, options, ExitStack())
    if options.html is None and options.png is None and not options.terminal:
        serve(options, explorer)
        return
    written = show(explorer, query, options)
    if written is not None:
        say(f"wrote {written}")


def serve(options: ExploreOptions, explorer: "Explorer") -> None:
    """Serve the page in this thread, so that Ctrl-C stops it."""
    from qkv.progress.terminal import say

    service = web_service()
    hosts = service.accepted_hosts(options.host)
    listener = listen(options.host, options.port)
    address = address_of(options.host, listener.getsockname()[1], options.text)
    say(f"{address}   (Ctrl-C stops the server)")
    if hosts is None:
        say("Anyone who can reach this machine can open the page and use the model.")
    open_browser(address, options)
    service.serve(explorer, listener, hosts)
