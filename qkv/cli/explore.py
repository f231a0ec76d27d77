"""`qkv explore`: a page on which every step of an answer can be looked at, or a file or picture of it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from qkv.cli.options import check_output, read_options
from qkv.errors import UserError

if TYPE_CHECKING:
    from qkv.explore.picture import Place
    from qkv.explore.session import Explorer, Wish


@dataclass(frozen=True, kw_only=True)
class Explore:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    text: str | None = None
    """Sentence to begin with, by default one of the lecture decks; or the file of a picture."""
    html: Path | None = None
    """Write one file that opens from disk instead of serving the page."""
    png: Path | None = None
    """Write a picture of one station instead of serving the page (needs matplotlib)."""
    terminal: bool = False
    """Print a heat map of attention weights instead of serving the page."""
    station: int = 16
    """The station of --png, 1 to 20 …"""
    side: str = ""
    """… of this stack (encoder, decoder, cross) where a station has several …"""
    layer: int = 1
    """… in this layer, counted from 1 …"""
    head: int = 1
    """… and this head."""
    host: str = "127.0.0.1"
    """Address to listen on: by default nobody but this machine can see the page."""
    port: int = 8765
    """Port to listen on; 0 takes any that is free."""
    no_open: bool = False
    """Only say the address, do not open a browser."""


def main(arguments: list[str]) -> None:
    command = read_options(
        Explore,
        arguments,
        prog="qkv explore",
        description="Walk through a model step by step, with its own numbers, on a page of this machine.",
    )
    if (command.html is not None) + (command.png is not None) + command.terminal > 1:
        raise UserError("give one of --html, --png and --terminal, not several.")
    if not 0 <= command.port <= 65535:
        raise UserError("--port is a number from 0 to 65535.")
    if command.text is not None and not command.text.strip():
        raise UserError("--text is empty: give a sentence, or leave the option out for one of the decks.")
    for option, path in [("--html", command.html), ("--png", command.png)]:
        if path is not None:
            check_output(option, path)
    from qkv.cli.terminal import say
    from qkv.explore.session import Explorer, Wish

    explorer = Explorer(command.model, [] if command.text is None else [Path(command.text)])
    wish = Wish(text=explorer.info()["examples"][0] if command.text is None else command.text)
    if command.html is not None:
        from qkv.explore.single_file import write_html

        write_html(command.html, explorer, wish)
        say(f"written: {command.html}")
    elif command.png is not None:
        from qkv.explore.picture import write_picture

        write_picture(command.png, explorer, wish, place_of(command))
        say(f"written: {command.png}")
    elif command.terminal:
        print_heat_map(explorer, wish, place_of(command))
    else:
        serve(command, explorer)


def place_of(command: Explore) -> "Place":
    """Layers and heads are counted from 1 where people read them."""
    from qkv.explore.picture import Place

    return Place(station=command.station, side=command.side, layer=command.layer - 1, head=command.head - 1)


def print_heat_map(explorer: "Explorer", wish: "Wish", place: "Place") -> None:
    from qkv.cli.terminal import escaped, heat_map
    from qkv.explore.picture import panels_of

    if place.station not in (8, 15, 16):
        raise UserError("--terminal shows attention weights: stations 8, 15 and 16.")
    trace, _ = explorer.trace(wish)
    [panel] = panels_of(trace, place)
    columns, rows = (
        [escaped(each.strip() or "␣") for each in words] for words in (panel.columns, panel.rows)
    )
    print(panel.title)
    print(heat_map(columns, rows, panel.array.tolist()).plain)


def serve(command: Explore, explorer: "Explorer") -> None:
    try:
        from qkv.explore import service
    except ImportError:
        raise UserError("the page needs starlette and uvicorn: pip install 'qkv[explore]'.") from None
    from urllib.parse import quote

    from qkv.cli.terminal import say

    hosts = service.names_of(command.host)
    listener = service.listening(command.host, command.port)
    address = f"http://{service.shown(command.host)}:{listener.getsockname()[1]}/"
    if command.text:
        address += f"#text={quote(command.text)}"
    say(f"{address}   (Ctrl-C ends it)")
    if hosts is None:
        say("Everybody who can reach this machine can see the page and type into it.")
    if not command.no_open and sys.stderr.isatty():
        import webbrowser

        webbrowser.open(address)
    service.serve(explorer, listener, hosts)
