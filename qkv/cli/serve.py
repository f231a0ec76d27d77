"""`qkv serve`: models behind the HTTP interfaces of LibreTranslate, DeepL, OpenAI and TEI."""

import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Annotated

from qkv.api.published import located
from qkv.api.serving import address_of, web_module
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.flags import Flag, Positional
from qkv.listening import listen
from qkv.runtime.running import DEFAULT_RUNNING, Running
from qkv.server.options import ServeOptions, options_from

COMMON = {
    "model", "host", "port", "pivot", "max-texts", "max-characters", "keys", "metrics", "files", "tls-certificate", "tls-key",
    "root-path", "trusted-proxies", "threads", "beam-size", "log-format",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Serve:
    model: Positional[tuple[str, ...]]
    """Folders of models: translators, language models, BERTs; or language pairs such as en-de. en-de=FOLDER states the languages of a translator that has no
    names for them."""
    options: Annotated[ServeOptions, Flag(name="")] = field(default_factory=ServeOptions)
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    default = Serve(model=(), options=options_from(os.environ))
    command = read_options(
        Serve,
        arguments,
        prog="qkv serve",
        common=COMMON,
        default=default,
        description="Serve models over HTTP, for the clients of LibreTranslate, DeepL, OpenAI and TEI.",
    )
    if not command.model:
        raise QkvError("give the folder of at least one model.")
    state_module, running = web_module("state"), web_module("running")
    from qkv.progress.delayed import warn

    show_logs(command.options.log_format)
    listener = listen(command.options.host, command.options.port)
    tell(f"{address_of(command.options, listener)}   (Ctrl-C stops the server)")
    state = state_module.State(
        command.options, [str(located(each)) for each in command.model], command.running, warn
    )
    running.Server(state, tell).run_until_stopped(listener)


def tell(message: str) -> None:
    from qkv.progress.terminal import say

    say(message)


def show_logs(log_format: str) -> None:
    """Requests go to standard error, one line each; so do errors of the server itself."""
    access = logging.getLogger("qkv.server.access")
    access.propagate = False
    if log_format != "none":
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        access.handlers, access.level = [lines], logging.INFO
