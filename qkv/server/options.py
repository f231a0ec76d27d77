"""The options of the server, each stated once: flags of `qkv serve` and keyword arguments of `qkv.serve`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from qkv.errors import QkvError, check_rules
from qkv.flags import Flag, OptionalFile, OptionalFolder, OptionMessageError

UNLIMITED = 10**9
MOST_HYPOTHESES = 10


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How models are served.

    Example:
        >>> qkv.ServeOptions(port=5001, pivot="en").max_texts
        50
    """

    host: str = "127.0.0.1"
    """Address to listen on. By default only this machine can connect; 0.0.0.0 is every address."""
    port: int = 5000
    """Port to listen on; 0 picks a free one."""
    pivot: Annotated[str | None, Flag(metavar="CODE")] = None
    """Translate pairs without a model of their own in two steps through this language."""
    beam_size: int | None = None
    """Hypotheses kept at every step. By default, the setting of each model."""
    max_texts: int = 50
    """Texts in one request."""
    max_characters: int = 5_000
    """Characters of one text."""
    max_alternatives: int = MOST_HYPOTHESES
    """Alternative translations of one text."""
    max_body: int = 128 << 10
    """Bytes of a request, except files and glossaries."""
    max_file: int = 10_000_000
    """Bytes of a document or a glossary."""
    max_queue_tokens: int = 200_000
    """Tokens that may wait for translation. Further requests get status 429."""
    timeout: float = 30.0
    """Seconds until a request is answered or given up."""
    client_timeout: float = 20.0
    """Seconds that a client has to send a request, or to read a part of the response."""
    max_connections: int = 1_000
    """Open connections. Further ones get status 503."""
    cache_size: Annotated[int, Flag(metavar="MB")] = 64
    """Megabytes for finished translations, which equal sentences get at once; 0 turns this off."""
    requests_per_minute: int | None = None
    """Texts per minute of one client address or API key. An array counts each of its texts."""
    keys: OptionalFile = None
    """TOML file with API keys (hashed) and their limits; requests without a valid key are rejected."""
    key_address: Annotated[str, Flag(metavar="URL")] = ""
    """Where people get an API key, for the message to those who have none."""
    metrics: bool = True
    """Serve /metrics."""
    metrics_token: str = ""
    """Serve /metrics only to requests with this bearer token."""
    files: bool = True
    """Translate files."""
    glossaries: OptionalFolder = None
    """Folder where the glossaries of DeepL clients are kept. By default they are lost when the server stops."""
    suggestions: OptionalFile = None
    """Append better translations that users suggest to this file, one JSON object per line."""
    cors: bool = True
    """Let pages of other sites use the translation routes."""
    tls_certificate: OptionalFile = None
    """Certificate chain in PEM format, for HTTPS."""
    tls_key: OptionalFile = None
    """Private key of the certificate in PEM format."""
    root_path: str = ""
    """Path under which a proxy publishes the server, such as /translate-api."""
    trusted_proxies: Annotated[str, Flag(metavar="HOST,HOST,…")] = ""
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed."""
    default_source: Annotated[str, Flag(metavar="CODE")] = "auto"
    """Source language that the page selects first."""
    default_target: Annotated[str, Flag(metavar="CODE")] = ""
    """Target language that the page selects first."""
    explorer: Annotated[str, Flag(metavar="URL")] = ""
    """Address of a running `qkv explore` of the first model. The page links to it."""
    log_format: Literal["text", "json", "none"] = "text"
    """How requests are logged: one line each, without texts, keys or addresses."""

    def __post_init__(self) -> None:
        counts = (
            "max_texts",
            "max_characters",
            "max_body",
            "max_file",
            "max_queue_tokens",
            "max_connections",
        )
        check_rules(
            [
                ("port", "must be from 0 to 65535", 0 <= self.port <= 65535),
                *((name, "must be at least 1", getattr(self, name) >= 1) for name in counts),
                ("cache_size", "must not be negative", self.cache_size >= 0),
                ("max_alternatives", "must be from 0 to 100", 0 <= self.max_alternatives <= 100),
                ("timeout", "must be more than 0", self.timeout > 0),
                ("client_timeout", "must be more than 0", self.client_timeout > 0),
                ("beam_size", "must be from 1 to 100", self.beam_size is None or 1 <= self.beam_size <= 100),
                ("root_path", "must start with / and not end with it", is_path_prefix(self.root_path)),
                ("explorer", "must start with http:// or https://", is_web_address(self.explorer)),
                (
                    "requests_per_minute",
                    "must be at least 1",
                    self.requests_per_minute is None or self.requests_per_minute >= 1,
                ),
            ]
        )
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise OptionMessageError("{tls_certificate} and {tls_key} must be given together.")


def is_path_prefix(path: str) -> bool:
    return not path or (path.startswith("/") and not path.endswith("/"))


def is_web_address(text: str) -> bool:
    return not text or text.startswith(("http://", "https://"))


# Environment variables of LibreTranslate ---------------------------------------------------------------------


def positive(value: str) -> int:
    """A limit. LibreTranslate writes -1 for none."""
    number = int(value)
    return number if number > 0 else UNLIMITED


def switch(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on")


LIBRETRANSLATE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "LT_HOST": ("host", str),
    "LT_PORT": ("port", int),
    "LT_CHAR_LIMIT": ("max_characters", positive),
    "LT_BATCH_LIMIT": ("max_texts", positive),
    "LT_REQ_LIMIT": ("requests_per_minute", lambda value: int(value) if int(value) > 0 else None),
    "LT_ALTERNATIVES_LIMIT": ("max_alternatives", lambda value: min(100, positive(value))),
    "LT_METRICS": ("metrics", switch),
    "LT_METRICS_AUTH_TOKEN": ("metrics_token", str),
    "LT_DISABLE_FILES_TRANSLATION": ("files", lambda value: not switch(value)),
    "LT_GET_API_KEY_LINK": ("key_address", str),
    "LT_URL_PREFIX": ("root_path", lambda value: "/" + value.strip("/") if value.strip("/") else ""),
    "LT_FRONTEND_LANGUAGE_SOURCE": ("default_source", str),
    "LT_FRONTEND_LANGUAGE_TARGET": ("default_target", lambda value: "" if value == "locale" else value),
}
"""Variable, option, and how its value is read."""


def options_from(environment: Mapping[str, str]) -> ServeOptions:
    """The defaults, changed by LibreTranslate's variables. Those that have no counterpart are ignored."""
    given: dict[str, Any] = {}
    for variable, (name, read) in LIBRETRANSLATE.items():
        value = environment.get(variable, "")
        if not value:
            continue
        try:
            given[name] = read(value)
        except ValueError:
            raise QkvError(
                f"the environment variable {variable} must be a number, not '{value[:40]}'."
            ) from None
    return ServeOptions(**given)


DEFAULTS = ServeOptions()
