"""Text that comes bit by bit."""

import codecs
from collections.abc import Iterable, Iterator


def decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    """The text of bytes as they come; a character is told when all of its bytes are there."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        text = decoder.decode(piece)
        if text:
            yield text
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest


def until(texts: Iterable[str], stop: str) -> Iterator[str]:
    """What comes before the first `stop`, which may be spread over several texts."""
    if not stop:
        yield from texts
        return
    waiting = ""  # what could be the beginning of a stop
    for text in texts:
        waiting += text
        before, found, _ = waiting.partition(stop)
        if found:
            if before:
                yield before
            return
        keep = next(n for n in range(len(stop) - 1, -1, -1) if waiting.endswith(stop[:n]))
        told, waiting = waiting[: len(waiting) - keep], waiting[len(waiting) - keep :]
        if told:
            yield told
    if waiting:
        yield waiting


def after(first: str, texts: Iterable[str]) -> Iterator[str]:
    """The texts with this before the first, if there is any."""
    for text in texts:
        yield first + text
        first = ""
