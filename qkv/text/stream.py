"""Text that arrives in parts."""

import codecs
from collections.abc import Iterable, Iterator


def decode_stream(chunks: Iterable[bytes]) -> Iterator[str]:
    """Decode UTF-8 incrementally. A character is emitted once all its bytes have arrived."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for chunk in chunks:
        text = decoder.decode(chunk)
        if text:
            yield text
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest


def stop_at(texts: Iterable[str], stop: str) -> Iterator[str]:
    """The text before the first occurrence of `stop`, which may span several parts."""
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
        ready, waiting = waiting[: len(waiting) - keep], waiting[len(waiting) - keep :]
        if ready:
            yield ready
    if waiting:
        yield waiting


def prepend(first: str, texts: Iterable[str]) -> Iterator[str]:
    """The texts, with `first` before the first one."""
    for text in texts:
        yield first + text
        first = ""
