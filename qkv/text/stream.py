"""Streamed text."""

import codecs
from collections.abc import Iterable, Iterator


def decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    """Decode bytes as they arrive. A character is emitted once all its bytes are there."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        text = decoder.decode(piece)
        if text:
            yield text
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest


def until(texts: Iterable[str], stop: str) -> Iterator[str]:
    """The text before the first `stop`, which may span several parts."""
    if not stop:
        yield from texts
        return
    waiting = ""  # a possible beginning of `stop`
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
    """The texts, with this before the first of them."""
    for text in texts:
        yield first + text
        first = ""
