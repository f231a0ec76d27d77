"""`qkv explore`: a page that shows every step of a model's computation, or a file or an image of it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qkv.cli.options import check_output, read_options
from qkv.configs import from_dict
from qkv.errors import MissingExtraError, QkvError
from qkv.flags import Positional

if TYPE_CHECKING:
    from qkv.explore.picture import Place
    from qkv.explore.session import Explorer, TraceQuery


@dataclass(frozen=True, kw_only=True)
class Explore:
    model: Positional[Path]
    """Folder of the model."""
    text: str | None = None
    """Text to start with (default: an example), or for a ViT the path of an image."""
    html: Path | None = None
    """Write one HTML file that opens from disk instead of serving the page."""
    png: Path | None = None
    """Write an image of one station instead of serving the page (needs matplotlib)."""
    overwrite: bool = False
    """Replace the file of --html or --png if it exists."""
    terminal: bool = False
    """Print a heat map of attention weights instead of serving the page."""
    station: int = 16
    """Station for --png (1 to 20) or --terminal (8, 15 or 16)."""
    side: str = ""
    """Stack for --png and --terminal, if the station has several: encoder, decoder or cross."""
    layer: int = 1
    """Layer for --png and --terminal, counted from 1."""
    head: int = 1
    """Head for --png and --terminal, counted from 1."""
    host: str = "127.0.0.1"
    """Address to listen on. By default only this machine can open the page."""
    port: int = 8765
    """Port to listen on; 0 picks a free one."""
    no_open: bool = False
    """Print the address without opening a browser."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Explore,
        arguments,
        prog="qkv explore",
        description="Walk through a model's computation step by step, with its own numbers, in your browser.",
    )
    if (command.html is not None) + (command.png is not None) + command.terminal > 1:
        raise QkvError("--html, --png and --terminal cannot be combined: give one of them.")
    if not 0 <= command.port <= 65535:
        raise QkvError("--port must be from 0 to 65535.")
    if command.text is not None and not command.text.strip():
        raise QkvError("--text is empty: give a sentence, or omit the option to start with an example.")
    for option, path in [("--html", command.html), ("--png", command.png)]:
        if path is not None:
            check_output(option, path)
            if path.exists() and not command.overwrite:
                raise QkvError(f"{path} already exists: give another {option} file, or add --overwrite.")
    from qkv.explore.session import Explorer, TraceQuery
    from qkv.progress.terminal import say

    explorer = Explorer(command.model, [] if command.text is None else [Path(command.text)])
    text = explorer.info()["examples"][0] if command.text is None else command.text
    query = from_dict(TraceQuery, {"text": text}, "--text")
    if command.html is not None:
        from qkv.explore.single_file import write_html

        write_html(command.html, explorer, query)
        say(f"wrote {command.html}")
    elif command.png is not None:
        from qkv.explore.picture import write_picture

        write_picture(command.png, explorer, query, place_of(command))
        say(f"wrote {command.png}")
    elif command.terminal:
        print_heat_map(explorer, query, place_of(command))
    else:
        serve(command, explorer)


def place_of(command: Explore) -> "Place":
    """Layers and heads are counted from 1 on the command line."""
    from qkv.explore.picture import Place

    return Place(station=command.station, side=command.side, layer=command.layer - 1, head=command.head - 1)


def print_heat_map(explorer: "Explorer", query: "TraceQuery", place: "Place") -> None:
    from qkv.explore.picture import panels_of
    from qkv.progress.terminal import escape_markup, heat_map

    if place.station not in (8, 15, 16):
        raise QkvError("--terminal shows attention weights: --station must be 8, 15 or 16.")
    trace, _ = explorer.trace(query)
    [panel] = panels_of(trace, place)
    columns, rows = (
        [escape_markup(each.strip() or "␣") for each in words] for words in (panel.columns, panel.rows)
    )
    print(panel.title)
    print(heat_map(columns, rows, panel.array.tolist()).plain)


def serve(command: Explore, explorer: "Explorer") -> None:
    try:
        from qkv.explore import service
    except ImportError:
        raise MissingExtraError("the page", package="starlette", extra="explore") from None
    from urllib.parse import quote

    from qkv.progress.terminal import say

    hosts = service.accepted_hosts(command.host)
    listener = service.listen(command.host, command.port)
    address = f"http://{service.url_host(command.host)}:{listener.getsockname()[1]}/"
    if command.text:
        address += f"#text={quote(command.text)}"
    say(f"{address}   (Ctrl-C stops the server)")
    if hosts is None:
        say("Anyone who can reach this machine can open the page and use the model.")
    if not command.no_open and sys.stderr.isatty():
        import webbrowser

        webbrowser.open(address)
    service.serve(explorer, listener, hosts)
