"""explore: a page that shows every step of a model's computation, in a notebook, in a browser, or as a file."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Unpack, overload
from urllib.parse import quote

from qkv.checkpoint.outputs import check_new_file
from qkv.data.python_rows import Row, as_path
from qkv.environment import in_notebook, require_torch
from qkv.errors import MissingExtraError, QkvError, check_rules
from qkv.flags import Flag, OptionMessageError
from qkv.listening import listen, url_host
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from types import ModuleType

    from qkv.explorer.places import Place
    from qkv.explorer.session import Explorer, TraceQuery
    from qkv.keywords import ExploreKeywords

HEIGHT = 720  # pixels of the page in a notebook


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """What is shown, and where."""

    text: str | None = None
    """Text to start with (default: an example), or for a ViT the path of an image."""
    html: Path | None = None
    """Write one HTML file that opens from disk instead of serving the page."""
    png: Path | None = None
    """Write an image of one station instead of serving the page (needs matplotlib)."""
    overwrite: bool = False
    """Replace the HTML file or the image if it exists."""
    terminal: bool = False
    """Print a heat map of attention weights instead of serving the page."""
    station: Annotated[int | None, Flag(metavar="N")] = None
    """Station of an image (1 to 20; station 21 is only on the page) or of a heat map (8, 15 or 16); by default 16, or 8 if the
    model has no 16."""
    side: str = ""
    """Stack of an image or a heat map, if the station has several: encoder, decoder or cross."""
    layer: int = 1
    """Layer of an image or a heat map, counted from 1."""
    head: int = 1
    """Head of an image or a heat map, counted from 1."""
    host: str = "127.0.0.1"
    """Address to listen on. By default only this machine can open the page."""
    port: int = 8765
    """Port to listen on; 0 picks a free one."""
    no_open: bool = False
    """Print the address without opening a browser."""

    @property
    def place(self) -> Place:
        """Layers and heads are counted from 1 in the options."""
        from qkv.explorer.places import Place

        return Place(station=self.station, side=self.side, layer=self.layer - 1, head=self.head - 1)


class Exploration:
    """An open explorer, from `qkv.explore`. In a notebook it is the page; elsewhere a server in a thread.

    `close()` or the end of a `with` block stops the server and frees the model.

    Example:
        >>> with qkv.explore("runs/en-de", "the cat danced", no_open=True, port=0) as page:
        ...     print(page.address.startswith("http://localhost:"))
        True
        >>> page.address is None
        True
    """

    def __init__(self, explorer: Explorer, query: TraceQuery, files: ExitStack):
        self._explorer: Explorer | None = explorer
        self._query, self._files = query, files
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self.address: str | None = None
        """Of the page, while the server runs."""

    def serve(self, host: str = ExploreOptions.host, port: int = 0, *, fallback: bool = False) -> str:
        """Serve the page in a thread, where other texts and experiments can be tried. Returns its address.

        Args:
            host: Address to listen on.
            port: Port to listen on; 0 picks a free one.
            fallback: Take a free port if this one is in use.
        """
        if self.address is not None:
            return self.address
        if self._explorer is None:
            raise QkvError("this explorer is closed. Open it again with qkv.explore().")
        service = web_service()
        listener = listen(host, port, fallback=fallback)
        self._server = service.new_server(self._explorer, service.accepted_hosts(host))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="qkv explorer", daemon=True
        )
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        self.address = address_of(host, listener.getsockname()[1], self._query.text)
        return self.address

    def wait(self) -> None:
        """Wait until the server is stopped by Ctrl-C."""
        try:
            while self._thread is not None and self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop the server and free the model."""
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._server = self._thread = self.address = self._explorer = None
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._explorer is None:
            return "<Exploration, closed>"
        return f"<Exploration of {self._explorer.folder}{f' at {self.address}' if self.address else ''}>"

    def _repr_html_(self) -> str:
        """The page as one file, in a frame that can reach nothing else. It also works in a saved notebook."""
        from qkv.explorer.single_file import single_file

        if self._explorer is None:
            return "<em>This explorer is closed.</em>"
        page = escape(single_file(self._explorer, self._query), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="explorer" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8888"></iframe>'
        )


@overload
def explore(
    model: Any, text: str | None = ..., *, html: str | Path, **options: Unpack[ExploreKeywords]
) -> None: ...


@overload
def explore(
    model: Any, text: str | None = ..., *, png: str | Path, **options: Unpack[ExploreKeywords]
) -> None: ...


@overload
def explore(
    model: Any, text: str | None = ..., *, terminal: Literal[True], **options: Unpack[ExploreKeywords]
) -> None: ...


@overload
def explore(
    model: Any,
    text: str | None = ...,
    *,
    html: None = ...,
    png: None = ...,
    terminal: Literal[False] = ...,
    **options: Unpack[ExploreKeywords],
) -> Exploration: ...


@with_options(ExploreOptions)
def explore(model: Any, text: str | None = None, **options: Any) -> Exploration | None:
    """Walk through a model's computation step by step, with its own numbers.

    In a notebook the page appears below the cell. Elsewhere it is served by a thread and opens in a browser. The call returns
    at once: in a script, `qkv.explore(model).wait()` keeps the page open until Ctrl-C.

    Args:
        model: A translator, language model, BERT or ViT from `qkv.load`, or its folder.
        text: Text to start with (default: an example), or for a ViT the path of an image.

    Returns:
        The open explorer; None if an image, a file or a heat map was asked for.

    Raises:
        ModelError: The explorer does not show this kind of model.

    Example:
        >>> qkv.explore("runs/en-de", "the cat danced", html="page.html", overwrite=True)
        >>> qkv.explore("runs/en-de", "the cat danced", terminal=True)  # doctest: +ELLIPSIS
        decoder cross-attention, layer 1, head 1
        ...
    """
    require_torch("the explorer")
    chosen = replace_options(ExploreOptions(), options if text is None else {**options, "text": text})
    check_options(chosen)
    files = ExitStack()
    explorer, query = open_explorer(model, chosen, files)
    if chosen.html is not None or chosen.png is not None or chosen.terminal:
        with files:
            show(explorer, query, chosen)
        return None
    found = Exploration(explorer, query, files)
    if not in_notebook():
        address = found.serve(chosen.host, chosen.port, fallback="port" not in options)
        open_browser(address, chosen)
    return found


def open_browser(address: str, options: ExploreOptions) -> None:
    if not options.no_open and sys.stderr.isatty():
        import webbrowser

        webbrowser.open(address)


def check_options(options: ExploreOptions) -> None:
    if (options.html is not None) + (options.png is not None) + options.terminal > 1:
        raise OptionMessageError("{html}, {png} and {terminal} cannot be combined: give one of them.")
    check_rules([("port", "must be from 0 to 65535", 0 <= options.port <= 65535)])
    if options.text is not None:
        Row("text", options.text).text()
        if not options.text.strip():
            raise OptionMessageError(
                "{text} is empty: give a sentence, or omit the option to start with an example."
            )
    for name, given in (("html", options.html), ("png", options.png)):
        if given is not None:
            check_new_file(name, as_path(given), overwrite=options.overwrite)
    if options.png is not None and as_path(options.png).suffix.lower() != ".png":
        raise OptionMessageError(
            "{png} must end in .png, but {name} does not.", name=as_path(options.png).name
        )
    if options.png is None and not options.terminal and options.place != ExploreOptions().place:
        raise OptionMessageError("{station}, {side}, {layer} and {head} need {png} or {terminal}.")


def open_explorer(model: Any, options: ExploreOptions, files: ExitStack) -> tuple[Explorer, TraceQuery]:
    """The explorer, and the trace to start with. `files` are removed when it is closed."""
    from qkv.api.conversion import bundle_of
    from qkv.configs import from_dict
    from qkv.explorer.session import Explorer, TraceQuery

    folder = files.enter_context(bundle_of(model))
    explorer = Explorer(folder, [] if options.text is None else [Path(options.text)])
    text = explorer.info()["examples"][0] if options.text is None else options.text
    return explorer, from_dict(TraceQuery, {"text": text}, "text")


def show(explorer: Explorer, query: TraceQuery, options: ExploreOptions) -> Path | None:
    """Write the file or the image, and return its path; or print the heat map."""
    if options.html is not None:
        from qkv.explorer.single_file import write_html

        write_html(as_path(options.html), explorer, query)
        return as_path(options.html)
    if options.png is not None:
        from qkv.explorer.picture import write_picture

        write_picture(as_path(options.png), explorer, query, options.place)
        return as_path(options.png)
    print_heat_map(explorer, query, options.place)
    return None


def print_heat_map(explorer: Explorer, query: TraceQuery, place: Place) -> None:
    from qkv.explorer.picture import panels_of
    from qkv.explorer.places import WEIGHTS
    from qkv.progress.terminal import escape_markup, heat_map

    if place.station not in (None, *WEIGHTS):
        raise OptionMessageError("{terminal} shows attention weights: {station} must be 8, 15 or 16.")
    trace, _ = explorer.trace(query)
    [panel] = panels_of(trace, place)
    columns, rows = (
        [escape_markup(each.strip() or "␣") for each in words] for words in (panel.columns, panel.rows)
    )
    print(panel.title)
    print(heat_map(columns, rows, panel.array.tolist()).plain)


def web_service() -> ModuleType:
    try:
        from qkv.explorer import service
    except ImportError:
        raise MissingExtraError("the page", package="starlette", extra="explore") from None
    return service


def address_of(host: str, port: int, text: str | None) -> str:
    address = f"http://{url_host(host)}:{port}/"
    return address if not text else f"{address}#text={quote(text)}"
