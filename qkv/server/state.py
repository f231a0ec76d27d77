"""State: everything that the requests of one server share."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from qkv.families.translator.translations import Translation
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.server.cache import Cache
from qkv.server.detection import Detected, Detector, LanguageDetector, detect
from qkv.server.errors import ApiError, busy
from qkv.server.generating import Generators
from qkv.server.glossaries import GlossaryStore
from qkv.server.keys import Account, Keys
from qkv.server.limits import RateLimiter
from qkv.server.metrics import Metrics
from qkv.server.models import NO_MODELS, Models, Served, open_models
from qkv.server.options import ServeOptions
from qkv.server.scheduler import Scheduler
from qkv.server.stores import TimedStore
from qkv.server.translation import TranslationService

KEEP_FILES = 45 * 60.0  # seconds
FILES_AT_ONCE = 20  # of the largest size
PROOF = "one"  # a text that a new model must be able to translate before it is used
QUOTA = "Quota for this billing period has been exceeded."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredFile:
    name: str
    content: bytes
    media_type: str


@dataclass(eq=False)
class DocumentJob:
    """A document that is translated in the background."""

    identity: str
    key: str
    name: str
    owner: str
    media_type: str
    status: Literal["queued", "translating", "done", "error"] = "queued"
    progress: float = 0.0
    seconds_remaining: float = 0.0
    billed_characters: int = 0
    content: bytes = b""
    error_message: str = ""


class State:
    """The models, the workers, and everything that is counted or stored."""

    def __init__(
        self,
        options: ServeOptions,
        given: Sequence[Any] = (),
        running: Running = DEFAULT_RUNNING,
        warn: Warn = silent,
        detector: Detector | None = None,
    ):
        self.options, self.given, self.running, self.warn = options, tuple(given), running, warn
        self.models: Models = NO_MODELS
        self.ready = self.stopping = False
        self.keys = None if options.keys is None else Keys.read(options.keys)
        self.scheduler = Scheduler(running.thread_count, options.max_queue_tokens, options.timeout)
        self.cache: Cache[tuple[Translation, ...]] = Cache(options.cache_size)
        self.service = TranslationService(self.scheduler, self.cache)
        self.detector: Detector = detector or LanguageDetector()
        self.generators = Generators()
        self.limiter, self.metrics = RateLimiter(), Metrics()
        self.glossaries = GlossaryStore(options.glossaries)
        self.jobs: TimedStore[DocumentJob] = TimedStore(KEEP_FILES, FILES_AT_ONCE * options.max_file)
        self.files: TimedStore[StoredFile] = TimedStore(KEEP_FILES, FILES_AT_ONCE * options.max_file)
        self.characters = 0  # of all clients
        self.background: set[asyncio.Task[Any]] = set()

    # Models --------------------------------------------------------------------------------------------------

    def load(self, opened: Callable[[Served], None] = lambda served: None) -> None:
        """Open the models. Called in a thread."""
        self.models = open_models(self.given, self.options.pivot, self.running, self.warn, opened)
        self.ready = True

    def prepare_detection(self) -> None:
        """Read the tables of the language identifier, so that the first request need not. Called in a thread."""
        if self.models.sources:
            self.detector.rank(PROOF, self.models.sources)

    def reload(self) -> None:
        """Open everything again, prove it, and only then replace what is used. Requests in progress keep the old models."""
        if self.options.keys is not None:
            self.keys = Keys.read(self.options.keys, self.keys)
        models = open_models(self.given, self.options.pivot, self.running, self.warn)
        for leg in models.pairs.values():
            parts = leg.backend.split(PROOF, leg_options(leg.target_language))
            waiting = [part for part in parts if part.copied is None]
            if waiting:
                leg.backend.translate(waiting, words=False, alone=False)
        self.models = models

    # Clients -------------------------------------------------------------------------------------------------

    def check_rate(self, client: str, account: Account | None, texts: int, characters: int) -> None:
        """Count a request against the limits of its key or address.

        Raises:
            ApiError: 429 with the time to wait, or 456 if the key has used all its characters.
        """
        options = self.options
        if account is not None and exceeds(account.used_characters + characters, account.characters):
            raise ApiError(456, QUOTA)
        name = f"key {account.name}" if account else f"address {client}"
        per_minute = account.requests_per_minute if account else None
        per_minute = per_minute or options.requests_per_minute
        wait = 0.0
        if per_minute is not None:
            wait = self.limiter.wait(name, max(1, texts), per_minute)
        if not wait and account is not None and account.characters_per_minute is not None:
            wait = self.limiter.wait(f"characters of {name}", characters, account.characters_per_minute)
        if wait:
            error = busy(wait)
            raise ApiError(429, f"Slowdown: {per_minute} per 1 minute", headers=error.headers)
        if account is not None:
            account.used_characters += characters
        self.characters += characters

    async def detect(self, texts: Sequence[str], languages: Sequence[str]) -> list[Detected]:
        """The language of each text, among these."""
        if not languages:
            raise ApiError(400, "this server has no translation model.")
        if sum(map(len, texts)) < 500:
            return detect(self.detector, texts, languages)
        return await asyncio.to_thread(detect, self.detector, texts, languages)

    def close(self) -> None:
        self.stopping = True
        self.generators.close()
        self.scheduler.close()


def exceeds(count: int, limit: int | None) -> bool:
    return limit is not None and count > limit


def leg_options(target_language: str | None) -> Any:
    from qkv.families.translator.options import TranslationOptions

    return TranslationOptions(target_language=target_language)
